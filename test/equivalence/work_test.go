package equivalence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

var errTemporary = errors.New("it may work the next time")

// work is the one task: it finds its component and does what that one does.
func work(p *workload.Plan, l *workload.TaskMemory, executor string) worker.HandlerFunc {
	return func(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
		if strings.HasPrefix(a.Workflow, events.NoticePrefix) {
			return json.RawMessage("204"), nil // the receiver of a drain's notice has taken it
		}
		c := p.Component(a.Workflow, a.Spec.Component)
		before, err := l.Begin(a.Workflow, &a.Spec, executor)
		if c == nil || err != nil {
			err := fmt.Errorf("attempt of %q, component %q: %w", a.Workflow, a.Spec.Component, err)
			l.Complain(err)
			return nil, err
		}
		result, err := perform(ctx, c, a, before)
		if err != nil && !errors.Is(err, errTemporary) && ctx.Err() == nil {
			l.Complain(fmt.Errorf("%s of %s: %w", c.Name, a.Workflow, err))
		}
		return result, err
	}
}

// perform executes a task that was executed so many times before.
func perform(ctx context.Context, c *workload.Component, a *worker.Attempt, before int) (json.RawMessage, error) {
	task := &a.Spec
	what, err := c.Purpose(task)
	if err != nil {
		return nil, err
	}
	if what == events.ForProbe {
		return c.Look(task.Input, before)
	}
	result, err := c.Result(task.Input)
	if err != nil {
		return nil, err
	}
	how := c.Ends(task.Input, before, what)
	if how == workload.Hangs {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	if err := busy(ctx, a, c.Acts.Takes); err != nil {
		return nil, err
	}
	switch how {
	case workload.Crashes:
		panic(errTemporary)
	case workload.Errs:
		return nil, errTemporary
	}
	return result, nil
}

// busy lets the time pass that a task takes, which gives heartbeats where it must.
func busy(ctx context.Context, a *worker.Attempt, takes time.Duration) error {
	every := time.Duration(a.Spec.Silence) * time.Millisecond / 3
	for ; every > 0 && takes > every; takes -= every {
		if workload.Pause(ctx, every) != nil {
			return context.Cause(ctx)
		}
		if err := a.Heartbeat(json.RawMessage(`"on it"`)); err != nil {
			return err
		}
	}
	if workload.Pause(ctx, takes) != nil {
		return context.Cause(ctx)
	}
	return nil
}
