package taker_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/taker"
	"github.com/heddle-run/heddle/internal/taker/takertest"
	"github.com/heddle-run/heddle/shared/events"
)

// handlers are the tasks of a test by name.
type handlers map[string]taker.HandlerFunc

func (h handlers) lookup(task string) (taker.Handler, bool) {
	f, ok := h[task]
	return f, ok
}

func echo(_ context.Context, a *taker.Attempt) (json.RawMessage, error) { return a.Spec.Input, nil }

// start runs a taker of the default queue until the test or stop ends it.
func start(t *testing.T, p *takertest.Planner, slots int, h handlers, change ...func(*taker.Config)) (stop func()) {
	t.Helper()
	c := taker.Config{
		Kafka: p.Config, Name: "taker-under-test", Channel: "test",
		Pools: []taker.Pool{{Queues: []string{topics.DefaultQueue}, Slots: slots, Lookup: h.lookup}},
	}
	if os.Getenv("TAKER_LOG") != "" {
		c.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Kafka.Logger = c.Logger
	}
	for _, f := range change {
		f(&c)
	}
	tk, err := taker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- tk.Run(ctx) }()
	stopped := false
	stop = func() {
		t.Helper()
		if stopped {
			return
		}
		stopped = true
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the taker stopped with: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func TestAttemptRunsAndItsOutcomeIsReported(t *testing.T) {
	takertest.InBubble(t, topics.Options{Partitions: 2}, func(t *testing.T, p *takertest.Planner) {
		start(t, p, 4, handlers{"echo": echo})
		task := p.Task("w1", "echo", map[string]int{"n": 7})
		p.Dispatch("default", 1, "w1", task)
		o := p.Outcome(5 * time.Second)
		if o.Outcome != events.OutcomeCompleted || string(o.Result) != `{"n":7}` || o.Executor != "taker-under-test" {
			t.Errorf("got %v %s by %q, want completed {\"n\":7}", o.Outcome, o.Result, o.Executor)
		}
		if string(o.Token) != string(task.Token) || o.Started == 0 || o.Finished < o.Started {
			t.Errorf("outcome %+v does not tell of the attempt", o)
		}
	})
}
