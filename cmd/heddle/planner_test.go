package main

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// Where a cluster keeps commands for 7 days only, the planner takes the window from
// its flag, and names the flag when it is too long.
func TestADedupeWindowThatThePlannerCannotKeepIsRefused(t *testing.T) {
	elsewhere(t)
	c := brokertest.Start(t, topics.Options{Partitions: 1})
	week := "604800000"
	alter := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &week}}
	if _, err := kadm.NewClient(c.Admin(t)).AlterTopicConfigs(t.Context(), alter, c.Topics.Commands()); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		window string
		code   int
		says   string
	}{
		{"0s", codeUsage, "--dedupe-window is 0s"},
		{"-1h", codeUsage, "--dedupe-window: must not be negative"},
		{"85h", codeFailed, "--dedupe-window) is 85h0m0s"},
	} {
		out := &output{}
		args := []string{
			"planner", "--brokers", strings.Join(c.Config.Brokers, ","), "--prefix", c.Config.Prefix,
			"--data", t.TempDir(), "--token-key", "0123456789abcdef", "--dedupe-window=" + k.window,
		}
		if code := run(t.Context(), args, streams{in: strings.NewReader(""), out: out, err: out}); code != k.code {
			t.Errorf("with %s the planner ended with %d, want %d", k.window, code, k.code)
		}
		contains(t, out.String(), k.says)
	}
}

func TestAHistoryOfNothingIsRefused(t *testing.T) {
	elsewhere(t)
	for _, args := range [][]string{
		{"planner", "--brokers", "127.0.0.1:1", "--data", t.TempDir(), "--token-key", "0123456789abcdef", "--history=0s"},
		{"dev", "--data", t.TempDir(), "--history=0s"},
	} {
		out := &output{}
		if code := run(t.Context(), args, streams{in: strings.NewReader(""), out: out, err: out}); code != codeUsage {
			t.Errorf("%s ended with %d, want %d", args[0], code, codeUsage)
		}
		contains(t, out.String(), "--history is 0s, want more than 0")
	}
}

func TestARetentionOfNothingIsRefused(t *testing.T) {
	elsewhere(t)
	out := &output{}
	args := []string{"planner", "--brokers", "127.0.0.1:1", "--data", t.TempDir(), "--token-key", "0123456789abcdef", "--retain-idle=soon"}
	if code := run(t.Context(), args, streams{in: strings.NewReader(""), out: out, err: out}); code != codeUsage {
		t.Errorf("it ended with %d, want %d", code, codeUsage)
	}
	contains(t, out.String(), "retain.idle")
}
