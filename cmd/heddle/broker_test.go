package main

import (
	"context"
	"strings"
	"testing"
)

// The broker alone takes the topics, keeps them over a restart, and ends when it
// is told to.
func TestTheBrokerRunsAlone(t *testing.T) {
	elsewhere(t)
	brokerAlone(t, func(addr string) {
		contains(t, succeed(t, "topics", "apply", "--brokers", addr, "--partitions", "2"), "created or fixed")
	})
	brokerAlone(t, func(again string) {
		contains(t, succeed(t, "topics", "check", "--brokers", again), "as they should be")
	})
}

// brokerAlone runs `heddle broker` in the working directory while fn, which
// is given its address, runs.
func brokerAlone(t *testing.T, fn func(addr string)) {
	t.Helper()
	out := &output{}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"broker", "--data", "logs", "--kafka", "127.0.0.1:0"}, streams{in: strings.NewReader(""), out: out, err: out})
	}()
	eventually(t, "the broker is ready", func() bool { return strings.Contains(out.String(), "Try: ") })
	_, rest, _ := strings.Cut(out.String(), "ready at ")
	addr, _, _ := strings.Cut(rest, "\n")
	fn(addr)
	stop()
	if code := <-done; code != codeDone {
		t.Errorf("heddle broker ended with %d:\n%s", code, out)
	}
}
