package equivalence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// drive runs a workflow as its client does: it starts it, does its deeds, and
// waits until the workflow has come to rest for good.
func (w *world) drive(wf *workload.Workflow, id string) (workload.Results, error) {
	ctx, cancel := w.within()
	defer cancel()
	if err := workload.Pause(ctx, wf.Begin); err != nil {
		return workload.Results{}, err
	}
	var repeats sync.WaitGroup
	defer repeats.Wait()
	for i, life := range wf.Lives {
		if err := w.live(ctx, wf, id, i, life, &repeats); err != nil {
			return workload.Results{}, fmt.Errorf("life %d: %w", i, err)
		}
	}
	if err := w.startWorkflow(ctx, wf, id, "start", &repeats); err != nil {
		return workload.Results{}, fmt.Errorf("start: %w", err)
	}
	stop := w.completing(ctx, wf, id)
	defer stop()
	for i, m := range wf.More {
		if err := workload.Pause(ctx, m.After); err != nil {
			return workload.Results{}, err
		}
		if err := w.do(ctx, id, fmt.Sprintf("%s-deed-%d", id, i), m, &repeats); err != nil {
			return workload.Results{}, fmt.Errorf("deed %d: %w", i, err)
		}
	}
	return w.rest(ctx, id)
}

// live is an earlier run under the same id, that is deleted in the middle.
func (w *world) live(ctx context.Context, wf *workload.Workflow, id string, number int, life time.Duration, repeats *sync.WaitGroup) error {
	if err := w.startWorkflow(ctx, wf, id, fmt.Sprintf("life-%d", number), repeats); err != nil {
		return err
	}
	if err := workload.Pause(ctx, life); err != nil {
		return err
	}
	if number%2 == 0 {
		return w.client.Delete(ctx, id, true, client.By{})
	}
	if _, err := w.client.Cancel(ctx, id, client.By{}); err != nil && !errors.Is(err, client.ErrClosed) {
		return err
	}
	return w.client.Delete(ctx, id, false, client.By{})
}

// startWorkflow starts it, and again under the same key some time later.
func (w *world) startWorkflow(ctx context.Context, wf *workload.Workflow, id, key string, repeats *sync.WaitGroup) error {
	definition := wf.Graph.Source()
	if wf.Named {
		if _, err := w.client.Define(ctx, wf.Graph.Name, []byte(definition)); err != nil {
			return err
		}
		definition = wf.Graph.Name
	}
	start := func() (*client.Run, error) {
		o := client.StartOptions{ID: id, IdempotencyKey: id + "-" + key, Policies: wf.Rules.Said(), ComponentContext: wf.Graph.Lent()}
		if wf.Run != nil {
			o.Options = wf.Run
		}
		return w.client.Start(ctx, definition, wf.Start, o)
	}
	run, err := start()
	if err != nil {
		return err
	}
	repeats.Go(func() {
		if workload.Pause(ctx, 2*wf.Begin) != nil {
			return
		}
		again, err := start()
		if err != nil || again.Started == nil || again.Started.Run != run.Started.Run {
			w.t.Errorf("the start of %s, repeated, was answered with %+v, %v; at first with %+v", id, again, err, run.Started)
		}
	})
	return nil
}

func (w *world) do(ctx context.Context, id, key string, m workload.Deed, repeats *sync.WaitGroup) error {
	c := w.client
	switch m.What {
	case workload.Feed:
		in := func() error {
			o := client.InputOptions{IdempotencyKey: key, Policies: m.Rules.Said()}
			if m.Replace {
				o.Mode = "replace"
			}
			_, err := c.Input(ctx, id, m.Input, o)
			return err
		}
		return w.twice(ctx, key, m, repeats, in)
	case workload.Signal:
		return w.twice(ctx, key, m, repeats, func() error {
			_, err := c.Signal(ctx, id, m.Signal, m.Input, client.SignalOptions{Key: m.Key(), IdempotencyKey: key, By: client.By{Who: m.By}})
			return err
		})
	case workload.Checkpoint:
		_, err := c.Checkpoint(ctx, id, client.By{})
		return err
	case workload.PauseAndResume:
		if _, err := c.Pause(ctx, id, client.By{}); err != nil {
			return err
		}
		if err := workload.Pause(ctx, m.After); err != nil {
			return err
		}
	case workload.StopAndResume:
		if err := w.halt(ctx, id, m); err != nil {
			return err
		}
	}
	_, err := c.Resume(ctx, id, client.ResumeOptions{Policies: m.Rules.Said()})
	return err
}

// twice does what is sent under a key, and again some time later, if the deed says so.
func (w *world) twice(ctx context.Context, key string, m workload.Deed, repeats *sync.WaitGroup, send func() error) error {
	if m.Again > 0 {
		repeats.Go(func() {
			if err := workload.Pause(ctx, m.Again); err == nil {
				if err := send(); err != nil {
					w.t.Errorf("%s, repeated: %v", key, err)
				}
			}
		})
	}
	return send()
}

// halt stops a workflow and waits until it has drained.
func (w *world) halt(ctx context.Context, id string, m workload.Deed) error {
	o := client.StopOptions{Drain: max(m.After, time.Millisecond)}
	if m.ByOption {
		o.Drain = 0
	}
	if _, err := w.client.Stop(ctx, id, o); err != nil {
		return err
	}
	for {
		var got *client.Workflow
		err := persist(ctx, func(ctx context.Context) (err error) {
			got, err = w.client.Get(ctx, id)
			return err
		})
		if err != nil || got.Status == "stopped" {
			return err
		}
		if err := workload.Pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for it to stop: %w", err)
		}
	}
}

// mostRetries is more than the halting steps of one workflow need.
const mostRetries = 200

// rest waits until the workflow has come to rest; where it failed, what failed
// is tried again.
func (w *world) rest(ctx context.Context, id string) (workload.Results, error) {
	for tries := 0; ; tries++ {
		got, err := w.client.Run(id).Wait(ctx)
		if err != nil {
			return workload.Results{}, fmt.Errorf("waiting: %w\n%s", err, w.explain(id))
		}
		switch got.Status {
		case "idle", "completed":
			return w.look(ctx, id, got)
		case "failed":
			if tries >= mostRetries {
				return workload.Results{}, fmt.Errorf("it fails again and again: %+v", got.Failure)
			}
			if _, err := w.client.Retry(ctx, id, client.RetryOptions{}); err != nil {
				return workload.Results{}, fmt.Errorf("retry: %w", err)
			}
		default:
			return workload.Results{}, fmt.Errorf("it rests %s", got.Status)
		}
	}
}

// look reads everything that a client can see of a workflow at rest.
func (w *world) look(ctx context.Context, id string, got *client.Workflow) (workload.Results, error) {
	r := workload.Results{Status: string(got.Status), Counts: events.Counts(got.Counts), Run: got.Run}
	err := persist(ctx, func(ctx context.Context) error {
		all, err := w.client.Results(ctx, id)
		if err == nil {
			r.Outputs = all.Results
			r.Productions, err = w.client.Productions(ctx, id)
		}
		return err
	})
	if err != nil {
		return r, fmt.Errorf("reading: %w", err)
	}
	return r, nil
}

// persist repeats a read that a killed planner took with it, or whose owner cannot read on.
func persist(ctx context.Context, read func(ctx context.Context) error) error {
	for {
		some, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := read(some)
		cancel()
		away := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrUnavailable)
		if !away || workload.Pause(ctx, 100*time.Millisecond) != nil {
			return err
		}
	}
}

// explain tells where a workflow is that does not come to rest.
func (w *world) explain(id string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var b strings.Builder
	got, err := w.client.Get(ctx, id)
	fmt.Fprintf(&b, "%s, %v", asJSON(got), err)
	if page, err := w.client.Runnables(ctx, id, client.PageOptions{}); err == nil {
		for _, r := range page.Items {
			if r.Status != "completed" {
				fmt.Fprintf(&b, "\n%s", asJSON(r))
			}
		}
	}
	return b.String()
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
