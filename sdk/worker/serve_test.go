package worker_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/sdk/worker"
	"github.com/heddle-run/heddle/shared/events"
)

// atOnce is an adapter that does all work at once: it tells what it knows of it.
type atOnce struct{ executor.Adapter }

func (atOnce) Dispatch(ctx context.Context, w executor.Work) (executor.Answer, error) {
	result, err := json.Marshal(map[string]any{"task": w.Task, "input": w.Input, "workflow": task.WorkflowID(ctx), "token": task.Token(ctx) != "", "key": len(w.Key)})
	return executor.Done(result), err
}

// A worker may have tasks and adapters, each with its queues.
func TestAWorkerHasTasksAndAdapters(t *testing.T) {
	inBubble(t, func(w *worker.Worker) {
		worker.Handle(w, price, func(context.Context, order) (quote, error) { return quote{7}, nil })
		worker.Serve(w, "jobs", atOnce{}, worker.ServeOptions{})
		if queues, err := w.Queues(); err != nil || strings.Join(queues, " ") != "orders jobs" {
			t.Errorf("its queues are %v, %v", queues, err)
		}
	}, func(t *testing.T, p *workertest.Planner) {
		for _, c := range []struct{ queue, task, want string }{
			{"orders", "orders.price", `{"cents":7}`},
			{"jobs", "jobs.render", `{"input":{"item":"a"},"key":40,"task":"jobs.render","token":true,"workflow":"w"}`},
			{"jobs", "whatever", `{"input":{"item":"a"},"key":40,"task":"whatever","token":true,"workflow":"w"}`},
		} {
			p.Dispatch(c.queue, 0, "w", p.Task("w", c.task, map[string]string{"item": "a"}))
			if o := p.Outcome(5 * time.Second); o.Outcome != events.OutcomeCompleted || string(o.Result) != c.want {
				t.Errorf("%s: %v %s %+v, want %s", c.task, o.Outcome, o.Result, o.Error, c.want)
			}
		}
	})
}

func TestAdaptersThatCannotServe(t *testing.T) {
	for name, register := range map[string]func(*worker.Worker){
		"is nil":     func(w *worker.Worker) { worker.Serve(w, "jobs", nil, worker.ServeOptions{}) },
		"negative":   func(w *worker.Worker) { worker.Serve(w, "jobs", atOnce{}, worker.ServeOptions{Open: -1}) },
		"queue name": func(w *worker.Worker) { worker.Serve(w, "Jobs!", atOnce{}, worker.ServeOptions{}) },
		"two adapters": func(w *worker.Worker) {
			worker.Serve(w, "jobs", atOnce{}, worker.ServeOptions{})
			worker.Serve(w, "jobs", atOnce{}, worker.ServeOptions{})
		},
		"in two pools": func(w *worker.Worker) {
			worker.Handle(w, price, func(context.Context, order) (quote, error) { return quote{7}, nil })
			worker.Serve(w, "orders", atOnce{}, worker.ServeOptions{})
		},
	} {
		w, err := worker.New(worker.Options{Brokers: []string{"127.0.0.1:1"}})
		if err != nil {
			t.Fatal(err)
		}
		register(w)
		if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
