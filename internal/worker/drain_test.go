package worker_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/shared/events"
)

func TestDrainLetsAttemptsFinish(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		r := start(t, p, 1, handlers{"slow": func(context.Context, *worker.Attempt) (json.RawMessage, error) {
			time.Sleep(10 * time.Second)
			return json.RawMessage("1"), nil
		}})
		p.Dispatch("default", 0, "w", p.Task("w", "slow", nil))
		time.Sleep(time.Second)
		began := time.Now()
		r.stop()
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("draining took %v", d)
		}
		if o := p.Outcome(soon); o.Outcome != events.OutcomeCompleted {
			t.Errorf("got %v, want completed", o.Outcome)
		}
		if at := p.Committed("default", 0); at != 1 {
			t.Errorf("committed %d, want 1", at)
		}
	})
}

func TestDrainHandsBackWhatHasNotBegun(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		r := start(t, p, 1, handlers{"slow": func(context.Context, *worker.Attempt) (json.RawMessage, error) {
			time.Sleep(10 * time.Second)
			return nil, nil
		}})
		running, waiting := p.Task("w", "slow", nil), p.Task("w", "slow", nil)
		p.Dispatch("default", 0, "w", running, waiting)
		time.Sleep(time.Second)
		r.stop()
		o := p.Outcome(soon)
		if o.Outcome != events.OutcomeAbandoned || string(o.Token) != string(waiting.Token) || o.Started != 0 {
			t.Errorf("got %v, started %d; want the waiting one abandoned, never started", o.Outcome, o.Started)
		}
		if o := p.Outcome(soon); o.Outcome != events.OutcomeCompleted {
			t.Errorf("got %v, want the running one completed", o.Outcome)
		}
		if at := p.Committed("default", 0); at != 2 {
			t.Errorf("committed %d, want 2", at)
		}
	})
}

func TestDrainCancelsAtItsLimitAndHandsBackTheRest(t *testing.T) {
	for name, h := range map[string]worker.HandlerFunc{
		"one that obeys": until,
		"one that does not": func(context.Context, *worker.Attempt) (json.RawMessage, error) {
			time.Sleep(time.Hour)
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
				r := start(t, p, 1, handlers{"long": h}, func(c *worker.Config) { c.DrainLimit = 5 * time.Second })
				p.Dispatch("default", 0, "w", p.Task("w", "long", nil))
				time.Sleep(time.Second)
				began := time.Now()
				r.stop()
				if d := time.Since(began); d < 5*time.Second || d > 7*time.Second {
					t.Errorf("draining took %v, want its limit", d)
				}
				o := p.Outcome(soon)
				if o.Outcome != events.OutcomeAbandoned || o.Started == 0 || o.Error == nil || o.Error.Type != "lost" {
					t.Errorf("got %v, started %d, %+v; want abandoned after its start", o.Outcome, o.Started, o.Error)
				}
				time.Sleep(time.Hour) // the test's bubble waits for its goroutines
			})
		})
	}
}

func TestANewWorkerGetsThePartitionsWhileTheOldOneDrains(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		r := start(t, p, 1, handlers{"slow": func(context.Context, *worker.Attempt) (json.RawMessage, error) {
			time.Sleep(20 * time.Second)
			return nil, nil
		}}, func(c *worker.Config) { c.Name = "old" })
		p.Dispatch("default", 0, "w", p.Task("w", "slow", nil))
		time.Sleep(time.Second)
		start(t, p, 1, handlers{"slow": echo})
		r.cancel()
		time.Sleep(time.Second)
		p.Dispatch("default", 0, "w", p.Task("w", "slow", 2))
		if o := p.Outcome(soon); o.Executor != "worker-under-test" {
			t.Errorf("the next attempt ran at %s", o.Executor)
		}
		if o := p.Outcome(time.Minute); o.Outcome != events.OutcomeCompleted || o.Executor != "old" {
			t.Errorf("%v by %s, want the old one's own attempt completed", o.Outcome, o.Executor)
		}
	})
}
