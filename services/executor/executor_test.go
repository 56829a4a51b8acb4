package executor

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/shared/events"
)

// inBubble runs fn beside an executor in virtual time.
func inBubble(t *testing.T, change func(*Config), fn func(t *testing.T, p *workertest.Planner)) {
	t.Helper()
	workertest.InBubble(t, topics.Options{Partitions: 2}, func(t *testing.T, p *workertest.Planner) {
		joined := make(chan struct{})
		c := Config{Kafka: p.Config, Name: "x", Slots: 4, Test: true, Ready: func() { close(joined) }}
		if change != nil {
			change(&c)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- Run(ctx, c) }()
		<-joined
		fn(t, p)
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the executor stopped with: %v", err)
		}
	})
}

func TestTestTasks(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, p *workertest.Planner) {
		for _, c := range []struct {
			task    string
			attempt uint32
			input   string
			outcome events.Outcome
			result  string // or the error's type
		}{
			{"test.echo", 1, `{"a": [1, 2]}`, events.OutcomeCompleted, `{"a": [1, 2]}`},
			{"test.sleep", 1, `{"ms": 100}`, events.OutcomeCompleted, `{"ms": 100}`},
			{"test.sleep", 1, `{"ms": -1}`, events.OutcomeFailed, "invalid_input"},
			{"test.fail", 1, `{"n": 2, "then": "ok"}`, events.OutcomeFailed, "test_failure"},
			{"test.fail", 2, `{"n": 2, "then": "ok"}`, events.OutcomeFailed, "test_failure"},
			{"test.fail", 3, `{"n": 2, "then": "ok"}`, events.OutcomeCompleted, `"ok"`},
			{"test.fail", 1, `{}`, events.OutcomeCompleted, `{}`},
			{"test.flaky", 1, `{"rate": 1}`, events.OutcomeFailed, "test_failure"},
			{"test.flaky", 1, `{"rate": 0}`, events.OutcomeCompleted, `{"rate": 0}`},
			{"test.flaky", 1, `{"rate": 2}`, events.OutcomeFailed, "invalid_input"},
			{"test.echo", 1, `[1`, events.OutcomeCompleted, `[1`}, // values are never decoded on the way
			{"test.fail", 1, `7`, events.OutcomeFailed, "invalid_input"},
			{"test.nothing", 1, `{}`, events.OutcomeUnknownTask, "unknown_task"},
		} {
			task := p.Task("w", c.task, nil)
			task.Input, task.Attempt = json.RawMessage(c.input), c.attempt
			p.Dispatch("default", 0, "w", task)
			o := p.Outcome(5 * time.Second)
			got := string(o.Result)
			if o.Error != nil {
				got = o.Error.Type
			}
			if o.Outcome != c.outcome || got != c.result {
				t.Errorf("%s %s, attempt %d: %v %s, want %v %s", c.task, c.input, c.attempt, o.Outcome, got, c.outcome, c.result)
			}
		}
	})
}

func TestTestTasksAreUnknownUnlessAllowed(t *testing.T) {
	inBubble(t, func(c *Config) { c.Test = false }, func(t *testing.T, p *workertest.Planner) {
		p.Dispatch("default", 0, "w", p.Task("w", "test.echo", 1))
		if o := p.Outcome(5 * time.Second); o.Outcome != events.OutcomeUnknownTask {
			t.Errorf("got %v, want unknown_task", o.Outcome)
		}
	})
}

func TestFlakyFailsTheGivenShare(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, p *workertest.Planner) {
		failed := 0
		const attempts = 400
		for i := range attempts {
			task := p.Task("w", "test.flaky", map[string]float64{"rate": 0.25})
			task.Attempt = uint32(i)
			p.Dispatch("default", 0, "w", task)
			if p.Outcome(5*time.Second).Outcome == events.OutcomeFailed {
				failed++
			}
		}
		if failed < 70 || failed > 130 {
			t.Errorf("%d of %d failed, want about a quarter", failed, attempts)
		}
	})
}

func TestMetricsCountAttempts(t *testing.T) {
	registry := prometheus.NewRegistry()
	inBubble(t, func(c *Config) { c.Registerer = registry }, func(t *testing.T, p *workertest.Planner) {
		p.Dispatch("default", 0, "w", p.Task("w", "test.echo", 1), p.Task("w", "test.sleep", map[string]int{"ms": 60000}))
		p.Outcome(5 * time.Second)
		time.Sleep(time.Second) // the other one runs
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				got[f.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		for name, want := range map[string]float64{
			"heddle_executor_attempts_total": 1, "heddle_executor_slots": 4, "heddle_executor_slots_busy": 1,
			"heddle_executor_queue_seconds": 2, "heddle_executor_run_seconds": 1,
		} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
	})
}
