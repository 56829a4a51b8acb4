package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

const soon = 5 * time.Second

func TestAttemptRunsAndItsOutcomeIsReported(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 2}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 4, handlers{"echo": echo})
		task := p.Task("w1", "echo", map[string]int{"n": 7})
		p.Dispatch("default", 1, "w1", task)
		o := p.Outcome(soon)
		if o.Outcome != events.OutcomeCompleted || string(o.Result) != `{"n":7}` || o.Executor != "worker-under-test" {
			t.Errorf("got %v %s by %q, want completed {\"n\":7}", o.Outcome, o.Result, o.Executor)
		}
		if string(o.Token) != string(task.Token) || o.Started == 0 || o.Finished < o.Started {
			t.Errorf("outcome %+v does not tell of the attempt", o)
		}
	})
}

// Reports and what is decoded share memory with other attempts or none: what a
// handler does to its input, then or later, reaches neither.
func TestAHandlerOwnsItsInput(t *testing.T) {
	const attempts = 100
	var kept sync.Map // inputs by workflow
	tasks := handlers{"keep": func(_ context.Context, a *worker.Attempt) (json.RawMessage, error) {
		kept.Store(a.Workflow, a.Spec.Input)
		return json.RawMessage(`"` + a.Workflow + `"`), nil
	}, "spoil": func(_ context.Context, a *worker.Attempt) (json.RawMessage, error) {
		in := a.Spec.Input
		clear(in)
		_ = append(in, "behind the input"...)
		return json.RawMessage(`"` + a.Workflow + `"`), nil
	}}
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 4, tasks)
		for i := range attempts {
			name, w := []string{"keep", "spoil"}[i%2], fmt.Sprintf("w%d", i)
			task := p.Task(w, name, w)
			p.Dispatch("default", 0, w, task)
			o := p.Outcome(soon)
			if string(o.Token) != string(task.Token) || string(o.Result) != `"`+w+`"` {
				t.Fatalf("%s of %s: the outcome %s is of another attempt", name, w, o.Result)
			}
		}
		n := 0
		kept.Range(func(w, in any) bool {
			n++
			if got := string(in.(json.RawMessage)); got != `"`+w.(string)+`"` {
				t.Errorf("the input that %s kept became %s", w, got)
			}
			return true
		})
		if n != attempts/2 {
			t.Errorf("%d inputs were kept, want %d", n, attempts/2)
		}
	})
}

func TestEachEndOfATaskHasItsOutcome(t *testing.T) {
	big := json.RawMessage(`"` + strings.Repeat("x", 3<<20) + `"`)
	returns := func(result json.RawMessage, err error) worker.HandlerFunc {
		return func(context.Context, *worker.Attempt) (json.RawMessage, error) { return result, err }
	}
	tasks := handlers{
		"nothing": returns(nil, nil),
		"error":   returns(nil, errors.New("broken")),
		"typed":   returns(nil, &worker.TaskError{Type: "own", Message: "m", NonRetryable: true, RetryAfterMs: 5}),
		"handed":  returns(nil, worker.ErrUnknownTask),
		"large":   returns(big, nil),
		"long":    returns(nil, errors.New(strings.Repeat("e", 1<<20))),
		"panic":   func(context.Context, *worker.Attempt) (json.RawMessage, error) { panic("at the disco") },
		"exit":    func(context.Context, *worker.Attempt) (json.RawMessage, error) { runtime.Goexit(); return nil, nil },
	}
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, tasks) // one slot: whatever a task does, it comes back
		for _, c := range []struct {
			task    string
			outcome events.Outcome
			typ     string
			final   bool
			message string
		}{
			{"nothing", events.OutcomeCompleted, "", false, ""},
			{"error", events.OutcomeFailed, "error", false, "broken"},
			{"typed", events.OutcomeFailed, "own", true, "m"},
			{"handed", events.OutcomeUnknownTask, "unknown_task", false, "unknown task"},
			{"handled", events.OutcomeUnknownTask, "unknown_task", false, "worker-under-test does not know handled; nearest: handed"},
			{"missing", events.OutcomeUnknownTask, "unknown_task", false, "worker-under-test does not know missing"},
			{"large", events.OutcomeFailed, "result_too_large", true, "the result has 3145730 bytes"},
			{"long", events.OutcomeFailed, "error", false, "eeee"},
			{"panic", events.OutcomeFailed, "panic", false, "at the disco"},
			{"exit", events.OutcomeFailed, "panic", false, "the task ended its goroutine"},
		} {
			p.Dispatch("default", 0, "w", p.Task("w", c.task, nil))
			o := p.Outcome(soon)
			var e events.TaskError
			if o.Error != nil {
				e = *o.Error
			}
			if o.Outcome != c.outcome || e.Type != c.typ || e.NonRetryable != c.final || !strings.HasPrefix(e.Message, c.message) {
				t.Errorf("%s: %v %.200v, want %v %s", c.task, o.Outcome, e, c.outcome, c.typ)
			}
			if len(e.Message) > 10<<10 {
				t.Errorf("%s: the message has %d bytes", c.task, len(e.Message))
			}
			if c.outcome == events.OutcomeCompleted && string(o.Result) != "null" {
				t.Errorf("%s: result %s, want null", c.task, o.Result)
			}
		}
	})
}

func TestAResultOfTheLargestSizeArrives(t *testing.T) {
	names, err := topics.NewNames("")
	if err != nil {
		t.Fatal(err)
	}
	limit := int(topics.Default().MaxBytes(names, names.Inbox())) - 4<<10
	result := json.RawMessage(`"` + strings.Repeat("x", limit-2) + `"`)
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"large": func(context.Context, *worker.Attempt) (json.RawMessage, error) { return result, nil }})
		id := strings.Repeat("w", events.MaxWorkflowID)
		p.Dispatch("default", 0, id, p.Task(id, "large", nil))
		if o := p.Outcome(soon); o.Outcome != events.OutcomeCompleted || len(o.Result) != limit {
			t.Errorf("%v with %d bytes, want completed with %d", o.Outcome, len(o.Result), limit)
		}
	})
}

func TestTimeCountsFromTheStart(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"until": until})
		for _, c := range []struct {
			timeout, deadline, want time.Duration
		}{
			{timeout: 3 * time.Second, want: 3 * time.Second},
			{deadline: 4 * time.Second, want: 4 * time.Second},
			{timeout: 2 * time.Second, deadline: 4 * time.Second, want: 2 * time.Second},
			{timeout: 4 * time.Second, deadline: 2 * time.Second, want: 2 * time.Second},
		} {
			task := p.Task("w", "until", nil)
			began := time.Now()
			task.Timeout = c.timeout.Milliseconds()
			if c.deadline > 0 {
				task.Deadline = began.Add(c.deadline).UnixMilli()
			}
			p.Dispatch("default", 0, "w", task)
			o := p.Outcome(10 * time.Second)
			if took := time.Since(began); o.Outcome != events.OutcomeTimedOut || o.Error.Type != "timeout" || took.Round(100*time.Millisecond) != c.want {
				t.Errorf("timeout %v, deadline %v: %v after %v, want timed_out after %v", c.timeout, c.deadline, o.Outcome, took, c.want)
			}
		}
	})
}

func TestAnAttemptWhoseDeadlineHasPassedDoesNotRun(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"never": func(context.Context, *worker.Attempt) (json.RawMessage, error) {
			t.Error("it ran")
			return nil, nil
		}})
		task := p.Task("w", "never", nil)
		task.Deadline = time.Now().Add(-time.Second).UnixMilli()
		p.Dispatch("default", 0, "w", task)
		if o := p.Outcome(soon); o.Outcome != events.OutcomeTimedOut {
			t.Errorf("got %v, want timed_out", o.Outcome)
		}
	})
}

func TestAFailureOfItsOwnStandsAgainstTheTimeout(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"own": func(ctx context.Context, _ *worker.Attempt) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, &worker.TaskError{Type: "half_done", NonRetryable: true}
		}})
		task := p.Task("w", "own", nil)
		task.Timeout = 1000
		p.Dispatch("default", 0, "w", task)
		if o := p.Outcome(soon); o.Outcome != events.OutcomeFailed || o.Error.Type != "half_done" {
			t.Errorf("got %v %+v, want the task's own failure", o.Outcome, o.Error)
		}
	})
}

func TestAnUnreadableRecordStopsNothing(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"echo": echo})
		p.Produce(kafka.Placed(p.Topics.Tasks("default"), 0, []byte("w"), []byte("poison")))
		newer := p.Task("w", "echo", 1)
		value := append(encode(newer), 0xfa, 0x3f, 1, 0) // field 1023: of a later version
		p.Produce(kafka.Placed(p.Topics.Tasks("default"), 0, []byte("w"), value))
		told := p.Task("w", "echo", 3)
		p.Produce(kafka.Placed(p.Topics.Tasks("default"), 0, []byte("w"), encode(told), kafka.Header(wire.FormatHeader, []byte("2"))))
		p.Dispatch("default", 0, "w", p.Task("w", "echo", 2))
		for _, later := range []*events.Task{newer, told} {
			if o := p.Outcome(soon); o.Outcome != events.OutcomeUnknownTask || string(o.Token) != string(later.Token) {
				t.Errorf("a record of a later version: %v, want it handed back", o.Outcome)
			}
		}
		if o := p.Outcome(soon); string(o.Result) != "2" {
			t.Errorf("the record behind it: %s, want 2", o.Result)
		}
		time.Sleep(time.Second)
		if at := p.Committed("default", 0); at != 4 {
			t.Errorf("committed %d, want 4: past all of them", at)
		}
	})
}

func TestWrongPoolsAreRefused(t *testing.T) {
	lookup := handlers{}.lookup
	for name, pools := range map[string][]worker.Pool{
		"no pool":        nil,
		"no slots":       {{Queues: []string{"a"}, Lookup: lookup}},
		"no queue":       {{Slots: 1, Lookup: lookup}},
		"no lookup":      {{Queues: []string{"a"}, Slots: 1}},
		"no queue name":  {{Queues: []string{"a.b"}, Slots: 1, Lookup: lookup}},
		"queue in both":  {{Queues: []string{"a"}, Slots: 1, Lookup: lookup}, {Queues: []string{"a"}, Slots: 1, Lookup: lookup}},
		"queue repeated": {{Queues: []string{"a", "a"}, Slots: 1, Lookup: lookup}},
	} {
		if _, err := worker.New(worker.Config{Pools: pools}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAWorkerWaitsForItsClusterAndTellsOfMissingQueues(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		var c cable
		var log strings.Builder
		config := worker.Config{
			Kafka: p.Config, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Pools: []worker.Pool{{Queues: []string{"default", "elsewhere"}, Slots: 1, Lookup: handlers{"echo": echo}.lookup}},
		}
		c.through(&config)
		c.sever()
		tk, err := worker.New(config)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- tk.Run(ctx) }()
		p.Dispatch("default", 0, "w", p.Task("w", "echo", 1))
		if m := p.Within(time.Minute); m != nil {
			t.Errorf("without a network it reported %+v", m)
		}
		c.fix()
		p.Outcome(10 * time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for _, want := range []string{"does not answer", "queue=elsewhere"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, log.String())
			}
		}
	})
}

func TestAWorkerThatNeverReachedItsClusterEndsWell(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		var c cable
		config := worker.Config{Kafka: p.Config, Pools: []worker.Pool{{Queues: []string{"default"}, Slots: 1, Lookup: handlers{}.lookup}}}
		c.through(&config)
		c.sever()
		tk, err := worker.New(config)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := tk.Run(ctx); err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}
