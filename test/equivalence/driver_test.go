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
)

// results are what a workflow came to, as its client sees it.
type results struct {
	status      string
	outputs     map[string]json.RawMessage
	productions map[string][]json.RawMessage
	counts      client.Counts
	run         string
}

// drive runs a workflow as its client does: it starts it, does its deeds, and
// waits until the workflow has come to rest for good.
func (w *world) drive(wf *workflow, id string) (results, error) {
	ctx, cancel := w.within()
	defer cancel()
	if err := pause(ctx, wf.begin); err != nil {
		return results{}, err
	}
	var repeats sync.WaitGroup
	defer repeats.Wait()
	for i, life := range wf.lives {
		if err := w.live(ctx, wf, id, i, life, &repeats); err != nil {
			return results{}, fmt.Errorf("life %d: %w", i, err)
		}
	}
	if err := w.startWorkflow(ctx, wf, id, "start", &repeats); err != nil {
		return results{}, fmt.Errorf("start: %w", err)
	}
	stop := w.completing(ctx, wf, id)
	defer stop()
	for i, m := range wf.more {
		if err := pause(ctx, m.after); err != nil {
			return results{}, err
		}
		if err := w.do(ctx, id, fmt.Sprintf("%s-deed-%d", id, i), m, &repeats); err != nil {
			return results{}, fmt.Errorf("deed %d: %w", i, err)
		}
	}
	return w.rest(ctx, id)
}

// pause sleeps, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// live is an earlier run under the same id, that is deleted in the middle.
func (w *world) live(ctx context.Context, wf *workflow, id string, number int, life time.Duration, repeats *sync.WaitGroup) error {
	if err := w.startWorkflow(ctx, wf, id, fmt.Sprintf("life-%d", number), repeats); err != nil {
		return err
	}
	if err := pause(ctx, life); err != nil {
		return err
	}
	if number%2 == 0 {
		return w.client.Delete(ctx, id, true, client.Why{})
	}
	if _, err := w.client.Cancel(ctx, id, client.Why{}); err != nil && !errors.Is(err, client.ErrClosed) {
		return err
	}
	return w.client.Delete(ctx, id, false, client.Why{})
}

// startWorkflow starts it, and again under the same key some time later.
func (w *world) startWorkflow(ctx context.Context, wf *workflow, id, key string, repeats *sync.WaitGroup) error {
	definition := wf.graph.source()
	if wf.named {
		if _, err := w.client.Define(ctx, wf.graph.name, []byte(definition)); err != nil {
			return err
		}
		definition = wf.graph.name
	}
	start := func() (*client.Run, error) {
		opts := []client.StartOption{client.ID(id), client.IdempotencyKey(id + "-" + key)}
		if wf.run != nil {
			opts = append(opts, client.RunOptions(wf.run))
		}
		return w.client.Start(ctx, definition, wf.start, opts...)
	}
	run, err := start()
	if err != nil {
		return err
	}
	repeats.Go(func() {
		if pause(ctx, 2*wf.begin) != nil {
			return
		}
		again, err := start()
		if err != nil || again.Started == nil || again.Started.Run != run.Started.Run {
			w.t.Errorf("the start of %s, repeated, was answered with %+v, %v; at first with %+v", id, again, err, run.Started)
		}
	})
	return nil
}

func (w *world) do(ctx context.Context, id, key string, m deed, repeats *sync.WaitGroup) error {
	c := w.client
	switch m.what {
	case feed:
		in := func() error {
			_, err := c.Input(ctx, id, m.input, client.InputOptions{Key: key})
			return err
		}
		if m.again > 0 {
			repeats.Go(func() {
				if err := pause(ctx, m.again); err == nil {
					if err := in(); err != nil {
						w.t.Errorf("input %s, repeated: %v", key, err)
					}
				}
			})
		}
		return in()
	case checkpoint:
		_, err := c.Checkpoint(ctx, id, client.Why{})
		return err
	case pauseAndResume:
		if _, err := c.Pause(ctx, id, client.Why{}); err != nil {
			return err
		}
		if err := pause(ctx, m.after); err != nil {
			return err
		}
	case stopAndResume:
		if err := w.halt(ctx, id, m.after); err != nil {
			return err
		}
	}
	_, err := c.Resume(ctx, id, client.ResumeOptions{})
	return err
}

// halt stops a workflow and waits until it has drained.
func (w *world) halt(ctx context.Context, id string, drain time.Duration) error {
	if _, err := w.client.Stop(ctx, id, client.StopOptions{Drain: max(drain, time.Millisecond)}); err != nil {
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
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for it to stop: %w", err)
		}
	}
}

// mostRetries is more than the halting steps of one workflow need.
const mostRetries = 200

// rest waits until the workflow has come to rest; where it failed, what failed
// is tried again.
func (w *world) rest(ctx context.Context, id string) (results, error) {
	for tries := 0; ; tries++ {
		got, err := w.client.Run(id).Wait(ctx)
		if err != nil {
			return results{}, fmt.Errorf("waiting: %w\n%s", err, w.explain(id))
		}
		switch got.Status {
		case "idle", "completed":
			return w.look(ctx, id, got)
		case "failed":
			if tries >= mostRetries {
				return results{}, fmt.Errorf("it fails again and again: %+v", got.Failure)
			}
			if _, err := w.client.Retry(ctx, id, client.RetryOptions{}); err != nil {
				return results{}, fmt.Errorf("retry: %w", err)
			}
		default:
			return results{}, fmt.Errorf("it rests %s", got.Status)
		}
	}
}

// look reads everything that a client can see of a workflow at rest.
func (w *world) look(ctx context.Context, id string, got *client.Workflow) (results, error) {
	r := results{status: got.Status, counts: got.Counts, run: got.Run}
	err := persist(ctx, func(ctx context.Context) error {
		all, err := w.client.Results(ctx, id)
		if err == nil {
			r.outputs = all.Results
			r.productions, err = w.client.Productions(ctx, id)
		}
		return err
	})
	if err != nil {
		return r, fmt.Errorf("reading: %w", err)
	}
	return r, nil
}

// persist repeats a read that a killed planner took with it.
func persist(ctx context.Context, read func(ctx context.Context) error) error {
	for {
		some, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := read(some)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
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
