package main

import (
	"strings"
	"testing"
)

const purchase = `
name: purchase
components:
  approved: {signal: approval, key: input}
  bought: {expr: "'by ' + input.by", after: approved}
`

func TestASignalIsSentAndAStrayIsShown(t *testing.T) {
	elsewhere(t)
	write(t, "purchase.yaml", purchase)
	running(t, "purchase.yaml")

	succeed(t, "start", "purchase", "--id", "p", "--input", `"o7"`)
	contains(t, succeed(t, "signal", "p", "approval", "--key", "o8", "--input", `{"by": "bob"}`, "--idempotency-key", "once"), "p  running")
	succeed(t, "signal", "p", "approval", "--key", "o8", "--input", `{"by": "bob"}`, "--idempotency-key", "once")
	contains(t, succeed(t, "get", "p"), "1 that nobody has taken", "approval with the key o8, received")
	contains(t, succeed(t, "runnables", "p"), `the signal "approval" with the key "o7"`)
	if code, _, err := heddle(t, "", "signal", "p", "approvals", "--key", "o7"); code != codeFailed || !strings.Contains(err, `nearest: "approval"`) {
		t.Errorf("a signal of no name: exit %d, %s", code, err)
	}
	contains(t, succeed(t, "signal", "p", "approval", "--key", "o7", "--input", `{"by": "ann"}`, "--by", "me"), "p  idle")
	contains(t, succeed(t, "results", "p"), "by ann")
}
