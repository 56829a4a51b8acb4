package main

import (
	"strings"
	"testing"
)

// What a setting asks for is done or refused, never ignored.
func TestSettingsThatCannotBeObeyedAreRefused(t *testing.T) {
	elsewhere(t)
	text := write(t, "not.pem", "no certificate")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"list", "--url", "localhost:4080"}, "http://HOST:PORT"},
		{[]string{"list", "--url", "ftp://127.0.0.1:1"}, "http://HOST:PORT"},
		{[]string{"gateway", "--brokers", "127.0.0.1:1", "--http-cert-file", text}, "--http-key-file"},
		{[]string{"gateway", "--brokers", "127.0.0.1:1", "--http-cert-file", text, "--http-key-file", text}, text},
		{[]string{"executor", "--brokers", "127.0.0.1:1", "--runners", "0.0.0.0:0"}, "--runners-keys"},
		{[]string{"executor", "--brokers", "127.0.0.1:1", "--runners", "4090"}, "missing port"},
		{[]string{"executor", "--brokers", "127.0.0.1:1", "--runners-insecure"}, "--runners is missing"},
		{[]string{"executor", "--brokers", "127.0.0.1:1", "--runners", "127.0.0.1:0", "--runners-keys", "ann"}, "NAME:ROLE:SHA256"},
		{[]string{"executor", "--brokers", "127.0.0.1:1", "--runners", "127.0.0.1:0", "--runners-cert-file", text}, "--runners-key-file"},
		{[]string{"executor", "--brokers", "127.0.0.1:1", "--runners", "127.0.0.1:0", "--runners-origins", "example.com"}, "https://HOST"},
		{[]string{"dev", "--runners-origins", "*"}, "https://HOST"},
		{[]string{"dev", "--pools", "images"}, "QUEUE=POOL"},
		{[]string{"dev", "--pools", "images=a,images=b"}, "is bound to the pools a and b"},
		{[]string{"list", "--status", "bogus"}, "running, idle"},
		{[]string{"dlq", "--limit", "0"}, "at least 1"},
		{[]string{"dev", "--http", "0.0.0.0:0", "--kafka", "127.0.0.1:0", "--data", t.TempDir()}, "heddle gateway"},
	} {
		if code, _, err := soon(t, c.args...); code != codeUsage || !strings.Contains(err, c.says) || strings.Contains(err, "--insecure-listen") {
			t.Errorf("heddle %s: exit %d, %s", strings.Join(c.args, " "), code, err)
		}
	}
	data := t.TempDir()
	dev := []string{"dev", "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0", "--data", data, "--partitions"}
	if code, _, err := soon(t, append(dev, "4097")...); code == codeDone || !strings.Contains(err, "the limit is 4096") {
		t.Errorf("4097 partitions: exit %d, %s", code, err)
	}
	t.Run("first", func(t *testing.T) { running(t, "--data", data) }) // with two
	if code, _, err := soon(t, append(dev, "3")...); code == codeDone || !strings.Contains(err, "have 2 partitions, not 3") {
		t.Errorf("another count: exit %d, %s", code, err)
	}
}

func TestLoopbackIsAllowedByDevUnlessItIsToldNot(t *testing.T) {
	for text, want := range map[string]string{"": "unset", "--allow-loopback": "true", "--allow-loopback=false": "false"} {
		var c cli
		parser, err := newParser(&c, &settingsFile{}, streams{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(append([]string{"dev"}, strings.Fields(text)...)); err != nil {
			t.Fatal(err)
		}
		o, err := c.Dev.options(&app{Context: t.Context(), streams: streams{}})
		if err != nil || o.NoLoopback != (want == "false") {
			t.Errorf("%q: %+v, %v", text, o.NoLoopback, err)
		}
	}
}

// An input of a failed workflow is neither done nor refused.
func TestAnInputOfAFailedWorkflowIsHeld(t *testing.T) {
	elsewhere(t)
	write(t, "halted.yaml", halted)
	running(t, "halted.yaml")
	if code, _, err := soon(t, "run", "halted", "--id", "w"); code != codeFailed {
		t.Fatalf("run: exit %d, %s", code, err)
	}
	for _, more := range [][]string{nil, {"--wait", "10s"}} {
		code, out, err := soon(t, append([]string{"input", "w", "--input", "1"}, more...)...)
		if code != codeHeld || !strings.Contains(out, "w  failed") || !strings.Contains(err, "held") {
			t.Errorf("input %v: exit %d, %s%s", more, code, out, err)
		}
	}
	if got := succeed(t, "runnables", "w"); strings.Contains(got, "active") {
		t.Errorf("an attempt is made at once:\n%s", got)
	}
}
