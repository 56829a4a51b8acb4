package equivalence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// completing completes, until it is stopped, what waits for its client. The
// first attempt of each third runnable fails. It also decides what is uncertain.
func (w *world) completing(ctx context.Context, wf *workload.Workflow, id string) (stop func()) {
	waits := func(c *workload.Component) bool { return c.Acts.External || c.Acts.Doubt != 0 }
	if !slices.ContainsFunc(wf.Graph.Components, waits) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for workload.Pause(ctx, 300*time.Millisecond) == nil {
			if err := errors.Join(w.completeAll(ctx, id), w.decideAll(ctx, id)); err != nil && ctx.Err() == nil {
				w.t.Errorf("completing %s: %v", id, err)
				return
			}
		}
	})
	return func() { cancel(); running.Wait() }
}

func (w *world) completeAll(ctx context.Context, id string) error {
	open, err := w.runnables(ctx, id, "active")
	if err != nil {
		return err
	}
	for i, r := range open.Items {
		c := w.plan.Component(id, r.Component)
		if !c.Acts.External {
			continue
		}
		err := w.complete(ctx, c, r, i%3 == 0 && r.Attempt == 1)
		if err != nil && !errors.Is(err, client.ErrAttemptClosed) {
			return fmt.Errorf("%s: %w", r.ID, err)
		}
	}
	return nil
}

// decideAll says what became of attempts whose workers have vanished.
func (w *world) decideAll(ctx context.Context, id string) error {
	open, err := w.runnables(ctx, id, "uncertain")
	if err != nil {
		return err
	}
	for i, r := range open.Items {
		c := w.plan.Component(id, r.Component)
		if (i+r.Attempt)%2 == 0 {
			_, err = w.client.Retry(ctx, id, client.RetryOptions{Runnables: []string{r.ID}})
		} else if result, wrong := c.ResultOf(r.Input); wrong == nil {
			_, err = w.client.Complete(ctx, r.Token, result)
		} else {
			return wrong
		}
		if err != nil && !errors.Is(err, client.ErrAttemptClosed) && !errors.Is(err, &client.Error{Code: "nothing_to_retry"}) {
			return fmt.Errorf("%s: %w", r.ID, err)
		}
	}
	return nil
}

func (w *world) runnables(ctx context.Context, id string, status client.RunnableStatus) (open *client.Page[client.Runnable], err error) {
	err = persist(ctx, func(ctx context.Context) (err error) {
		open, err = w.client.Runnables(ctx, id, client.PageOptions{Status: status})
		return err
	})
	return open, err
}

func (w *world) complete(ctx context.Context, c *workload.Component, r client.Runnable, fail bool) error {
	if fail {
		_, err := w.client.Fail(ctx, r.Token, &task.Error{Type: "temporary", Message: "it may work the next time"})
		return err
	}
	result, err := c.Result(r.Input)
	if err != nil {
		return err
	}
	_, err = w.client.Complete(ctx, r.Token, result)
	return err
}
