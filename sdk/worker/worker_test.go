package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/sdk/worker"
	"github.com/heddle-run/heddle/shared/events"
)

type order struct {
	Item  string `json:"item"`
	Count int    `json:"count"`
}

type quote struct {
	Cents int `json:"cents"`
}

var (
	price = task.Define[order, quote]("orders.price")
	plain = task.Define[json.RawMessage, json.RawMessage]("plain")
)

// inBubble runs fn with a worker that register fills and that has been started.
func inBubble(t *testing.T, register func(*worker.Worker), fn func(t *testing.T, p *workertest.Planner)) {
	t.Helper()
	workertest.InBubble(t, topics.Options{Partitions: 2, Queues: []string{"orders", "jobs"}}, func(t *testing.T, p *workertest.Planner) {
		w, err := worker.New(worker.Options{
			Brokers: p.Config.Brokers, Dialer: p.Config.Dialer, Name: "w", Slots: 4, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		register(w)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		fn(t, p)
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the worker stopped with: %v", err)
		}
	})
}

// What an interceptor panics with fails the attempt, not the program.
func TestAPanicOfAnInterceptorFailsTheAttempt(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1, Queues: []string{"orders", "jobs"}}, func(t *testing.T, p *workertest.Planner) {
		w, err := worker.New(worker.Options{
			Brokers: p.Config.Brokers, Dialer: p.Config.Dialer, Name: "w", Logger: slog.New(slog.DiscardHandler),
			Interceptors: []worker.Interceptor{func(worker.Handler) worker.Handler {
				return func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("no trace today") }
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		worker.Handle(w, price, func(context.Context, order) (quote, error) { return quote{}, nil })
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		p.Dispatch("orders", 0, "o", p.Task("o", "orders.price", order{}))
		if o := p.Outcome(5 * time.Second); o.Outcome != events.OutcomeFailed || o.Error == nil || o.Error.Type != "panic" {
			t.Errorf("got %v, %+v", o.Outcome, o.Error)
		}
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestTypedHandlerRuns(t *testing.T) {
	inBubble(t, func(w *worker.Worker) {
		worker.Handle(w, price, func(_ context.Context, o order) (quote, error) {
			return quote{Cents: 250 * o.Count}, nil
		})
		worker.Handle(w, plain, func(_ context.Context, v json.RawMessage) (json.RawMessage, error) { return v, nil })
	}, func(t *testing.T, p *workertest.Planner) {
		p.Dispatch("orders", 0, "o-1", p.Task("o-1", "orders.price", order{"mug", 2}))
		if o := p.Outcome(5 * time.Second); string(o.Result) != `{"cents":500}` || o.Executor != "w" {
			t.Errorf("got %v %s by %q, want the price by w", o.Outcome, o.Result, o.Executor)
		}
		raw := p.Task("o-2", "plain", nil)
		raw.Input = json.RawMessage(`{ "kept": 1.50 }`)
		p.Dispatch("default", 1, "o-2", raw)
		if o := p.Outcome(5 * time.Second); string(o.Result) != string(raw.Input) {
			t.Errorf("a raw value came back as %s, want it byte for byte", o.Result)
		}
	})
}

func TestErrorsSayHowTheAttemptFailed(t *testing.T) {
	declined := errors.New("card declined")
	for _, c := range []struct {
		name  string
		input any
		fn    func(context.Context, order) (quote, error)
		want  events.TaskError
	}{
		{"plain error", order{}, func(context.Context, order) (quote, error) { return quote{}, declined },
			events.TaskError{Type: "error", Message: "card declined"}},
		{"typed error", order{}, func(context.Context, order) (quote, error) {
			return quote{}, &task.Error{Type: "payment", Err: declined, NonRetryable: true, RetryAfter: 2 * time.Second, Details: map[string]int{"code": 51}}
		}, events.TaskError{Type: "payment", Message: "card declined", NonRetryable: true, RetryAfterMs: 2000, Details: json.RawMessage(`{"code":51}`)}},
		{"input of another type", "seven mugs", nil,
			events.TaskError{Type: "invalid_input", Message: "the input is no worker_test.order", NonRetryable: true}},
		{"panic", order{}, func(context.Context, order) (quote, error) { panic("broken") },
			events.TaskError{Type: "panic", Message: "broken"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(w *worker.Worker) { worker.Handle(w, price, c.fn) }, func(t *testing.T, p *workertest.Planner) {
				p.Dispatch("orders", 0, "o", p.Task("o", "orders.price", c.input))
				o := p.Outcome(5 * time.Second)
				if o.Outcome != events.OutcomeFailed || o.Error == nil {
					t.Fatalf("got %v, want failed", o.Outcome)
				}
				got := *o.Error
				if !strings.HasPrefix(got.Message, c.want.Message) {
					t.Errorf("message %q, want %q…", got.Message, c.want.Message)
				}
				if c.want.Type == "panic" {
					got.Details = nil // the stack
				}
				if got.Type != c.want.Type || got.NonRetryable != c.want.NonRetryable ||
					got.RetryAfterMs != c.want.RetryAfterMs || string(got.Details) != string(c.want.Details) {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
			})
		})
	}
}

func TestContextTellsOfTheAttempt(t *testing.T) {
	type told struct {
		Token, Workflow, Key, Tenant string
		Number, Last                 int
		Limit                        time.Duration
	}
	ask := task.Define[any, told]("orders.ask")
	inBubble(t, func(w *worker.Worker) {
		worker.Handle(w, ask, func(ctx context.Context, _ any) (told, error) {
			tenant, _ := task.Value[string](ctx, "tenant")
			last, _ := task.LastHeartbeat[int](ctx)
			end, _ := ctx.Deadline()
			return told{task.Token(ctx), task.WorkflowID(ctx), task.IdempotencyKey(ctx), tenant, task.Number(ctx), last, time.Until(end)}, nil
		})
	}, func(t *testing.T, p *workertest.Planner) {
		spec := p.Task("o", "orders.ask", nil)
		spec.Attempt, spec.Timeout = 3, 1500
		spec.Context, spec.Heartbeat = json.RawMessage(`{"tenant":"acme"}`), json.RawMessage(`41`)
		p.Dispatch("orders", 0, "o", spec)
		var got told
		if err := json.Unmarshal(p.Outcome(5*time.Second).Result, &got); err != nil {
			t.Fatal(err)
		}
		want := told{events.TokenText(spec.Token), "o", "o/r1", "acme", 3, 41, 1500 * time.Millisecond}
		if got != want {
			t.Errorf("the task was told %+v, want %+v", got, want)
		}
	})
}

func TestPendingAttemptIsDetached(t *testing.T) {
	inBubble(t, func(w *worker.Worker) {
		worker.Handle(w, price, func(context.Context, order) (quote, error) { return quote{}, task.ErrPending })
	}, func(t *testing.T, p *workertest.Planner) {
		p.Dispatch("orders", 0, "o", p.Task("o", "orders.price", order{}))
		n, ok := p.Next(5 * time.Second).(*events.TaskNotified)
		if !ok || !n.Detached || n.Channel != "worker" || n.Executor != "w" {
			t.Fatalf("got %+v, want a detached notification", n)
		}
		if m := p.Within(time.Minute); m != nil {
			t.Errorf("a pending attempt went on to report %+v", m)
		}
	})
}

func TestWorkerRefusesWrongRegistrations(t *testing.T) {
	w, err := worker.New(worker.Options{Brokers: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no task is registered") {
		t.Errorf("a worker without tasks ran: %v", err)
	}
	w, err = worker.New(worker.Options{Brokers: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	fn := func(context.Context, order) (quote, error) { return quote{}, nil }
	worker.Handle(w, price, fn)
	worker.Handle(w, price, fn)
	if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "orders.price is registered twice") {
		t.Errorf("a task registered twice: %v", err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir(devfile.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(devfile.Dir, devfile.Name), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := worker.New(worker.Options{}); err == nil {
		t.Error("a worker was made by a note that cannot be read")
	}
}

// A worker that is told of no broker takes from the dev that runs here.
func TestAWorkerFindsTheDevThatRuns(t *testing.T) {
	c := brokertest.Start(t, topics.Options{Partitions: 1, Prefix: "mine."})
	t.Chdir(t.TempDir())
	if err := os.Mkdir(devfile.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := devfile.Write(devfile.Dir, devfile.File{Brokers: c.Config.Brokers, Prefix: c.Config.Prefix}); err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(worker.Options{Slots: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	worker.Handle(w, plain, func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	p := workertest.New(t, c)
	p.Dispatch("default", 0, "w", p.Task("w", "plain", 1))
	if o := p.Outcome(time.Minute); o.Outcome != events.OutcomeCompleted {
		t.Errorf("got %v", o.Outcome)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
