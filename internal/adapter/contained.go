package adapter

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/heddle-run/heddle/sdk/executor"
)

// contained is an adapter whose mistakes are errors: a panic ends no process, and an answer that is none counts as
// none.
type contained struct {
	executor.Adapter
	log *slog.Logger

	mu   sync.Mutex
	told string // the last State that was none, as it was told
}

// Dispatch implements executor.Adapter.
func (c *contained) Dispatch(ctx context.Context, w executor.Work) (a executor.Answer, err error) {
	defer contain(&err)
	if a, err = c.Adapter.Dispatch(ctx, w); err == nil {
		err = a.Check()
	}
	return a, err
}

// Cancel implements executor.Adapter.
func (c *contained) Cancel(ctx context.Context, ref executor.Ref) (err error) {
	defer contain(&err)
	return c.Adapter.Cancel(ctx, ref)
}

// Recover implements executor.Adapter. A State that is none says nothing about its own work, and the others stand: one
// mistake must not keep all works of an executor from their ends.
func (c *contained) Recover(ctx context.Context, refs []executor.Ref) (states []executor.State, err error) {
	defer contain(&err)
	if states, err = c.Adapter.Recover(ctx, refs); err != nil {
		return nil, err
	}
	if len(states) != len(refs) {
		return nil, fmt.Errorf("the adapter was asked about %d works and answers about %d", len(refs), len(states))
	}
	for i, s := range states {
		if err := s.Check(); err != nil {
			states[i] = executor.Running()
			c.tell(refs[i], err)
		}
	}
	return states, nil
}

// tell tells of a State that is none, but not at each question anew.
func (c *contained) tell(ref executor.Ref, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := ref.Key + err.Error(); c.told != now {
		c.told = now
		c.log.Error("an adapter made a mistake about a work, which counts as running", "work", ref.Key, "id", ref.ID, "error", err)
	}
}

// contain makes a panic the error of a method.
func contain(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the adapter panicked: %v\n%s", r, debug.Stack())
	}
}

// recovered asks about works, for a while.
func recovered(ctx context.Context, a executor.Adapter, refs []executor.Ref) ([]executor.State, error) {
	ctx, stop := context.WithTimeout(ctx, askFor)
	defer stop()
	return a.Recover(ctx, refs)
}
