package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// With -o json an error is a problem as the API has them, and the exit code the same.
func TestErrorsAreProblemsInJSON(t *testing.T) {
	elsewhere(t)
	bad := write(t, "bad.yaml", "name: x\ncomponents:\n  a: {stepp: b.c}\n")
	running(t)
	dev, err := (&remote{}).running(brokerOf, "")
	if err != nil {
		t.Fatal(err)
	}
	broker := dev.Brokers[0]
	for _, c := range []struct {
		args   []string
		code   int
		typ    string
		status int
		errors int
	}{
		{[]string{"get", "nobody"}, codeFailed, "not_found", 404, 0},
		{[]string{"define", bad}, codeFailed, "invalid_definition", 0, 2},
		{[]string{"start", "nothing"}, codeFailed, "unknown_definition", 422, 1},
		{[]string{"get", "x", "--url", "http://127.0.0.1:1"}, codeUnreachable, "unavailable", 0, 0},
		{[]string{"list", "--status", "bogus"}, codeUsage, "invalid_parameter", 0, 1},
		{[]string{"get"}, codeUsage, "usage", 0, 0},
		{[]string{"get", "x", "--bogus"}, codeUsage, "usage", 0, 0},
		{[]string{"bogus"}, codeUsage, "usage", 0, 0},
		{[]string{"--config", "none.yaml", "version"}, codeUsage, "usage", 0, 0},
		{[]string{"lookup", "nobody"}, codeFailed, "not_found", 404, 0},
		{[]string{"dlq", "1@99"}, codeFailed, "not_found", 0, 0},
		{[]string{"dlq", "--brokers", "127.0.0.1:1"}, codeUnreachable, "unavailable", 0, 0},
		{[]string{"journal", "dump", "--brokers", "127.0.0.1:1"}, codeUnreachable, "unavailable", 0, 0},
		{[]string{"topics", "diff"}, codeUsage, "usage", 0, 0},
		{[]string{"topics", "check", "--brokers", broker, "--queue", "more"}, codeFailed, "topics_differ", 0, 1},
		{[]string{"partitions", "accept-loss", "9"}, codeFailed, "not_found", 0, 0},
		{[]string{"partitions", "accept-loss", "1", "--log", "inbox"}, codeUsage, "usage", 0, 0},
	} {
		code, out, err := heddle(t, "", append(c.args, "-o", "json")...)
		var p problem
		if bad := json.Unmarshal([]byte(err), &p); bad != nil || out != "" {
			t.Errorf("%q: %v\n%s%s", c.args, bad, out, err)
			continue
		}
		if code != c.code || p.Type != "urn:heddle:problem:"+c.typ || p.Status != c.status || len(p.Errors) != c.errors || p.Detail == "" {
			t.Errorf("%q: exit %d, %s", c.args, code, err)
		}
	}
	for _, list := range []string{"list", "definitions", "dlq", "topics diff --brokers " + broker, "topics apply --brokers " + broker} {
		if out := strings.Join(strings.Fields(succeed(t, append(strings.Fields(list), "-o", "json")...)), ""); out != `{"items":[],"next_cursor":null}` {
			t.Errorf("%s: %s", list, out)
		}
	}
}

// A user who interrupts a run is told that it goes on, and how to see it.
func TestAnInterruptedRunGoesOn(t *testing.T) {
	elsewhere(t)
	write(t, "nap.yaml", "name: nap\ncomponents:\n  nap: {sleep: 1h}\n")
	running(t, "nap.yaml")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	said := &output{}
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"run", "nap", "--id", "w"}, streams{in: strings.NewReader(""), out: &bytes.Buffer{}, err: said})
	}()
	eventually(t, "it naps", func() bool { return strings.Contains(said.String(), "waits until") })
	interrupt()
	if code := <-done; code != codeInterrupted || !strings.Contains(said.String(), "it goes on: heddle watch w\n") {
		t.Errorf("exit %d, %s", code, said)
	}
}
