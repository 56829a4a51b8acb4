package taker

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// pool is the slots of some queues. Each slot is a goroutine.
type pool struct {
	Pool
	taker *Taker
	work  chan *Attempt // unbuffered: what is sent has a slot
	slots sync.WaitGroup
	busy  atomic.Int64
}

func newPool(t *Taker, p Pool) *pool { return &pool{Pool: p, taker: t, work: make(chan *Attempt)} }

// slot runs attempts until there is no more work. A task that ends the
// goroutine (runtime.Goexit) ends its attempt, and another one takes the slot.
func (p *pool) slot() {
	over := false
	defer func() {
		if !over {
			p.slots.Go(p.slot)
		}
	}()
	for a := range p.work {
		p.taker.execute(a)
	}
	over = true
}

var errExited = &TaskError{Type: events.ErrorPanic, Message: "the task ended its goroutine (runtime.Goexit)"}

// execute runs an attempt in the calling slot and reports its end.
func (t *Taker) execute(a *Attempt) {
	now := time.Now()
	ctx := t.ledger.begin(t.base, a, now)
	if ctx == nil {
		return
	}
	a.pool.busy.Add(1)
	t.config.Observer.Began(a.Queue, now.Sub(a.written))
	if at, ok := a.deadline(now); ok {
		var release context.CancelFunc
		ctx, release = context.WithDeadlineCause(ctx, at, ErrTimeout)
		defer release()
	}
	var result json.RawMessage
	var err error = errExited // unless the task returns
	defer func() {
		t.conclude(a, now, t.outcome(ctx, a, result, err))
		a.cancel(nil)
		a.pool.busy.Add(-1)
	}()
	result, err = t.result(ctx, a)
}

// conclude reports the end of an attempt's time in its slot; without an outcome
// it is pending.
func (t *Taker) conclude(a *Attempt, began time.Time, o *events.TaskOutcome) {
	now := time.Now()
	if o == nil {
		t.config.Observer.Ended(a.Queue, "pending", now.Sub(began))
		t.detach(a)
		return
	}
	o.Started, o.Finished = began.UnixMilli(), now.UnixMilli()
	t.config.Observer.Ended(a.Queue, o.Outcome.String(), now.Sub(began))
	t.end(a, o)
}

// result is what the task makes of an attempt whose context has not ended yet.
func (t *Taker) result(ctx context.Context, a *Attempt) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	h, ok := a.pool.Lookup(a.Spec.Task)
	if !ok {
		return nil, ErrUnknownTask
	}
	return t.invoke(ctx, h, a)
}

// maxStack bounds the stack that a panic's error carries.
const maxStack = 4 << 10

// invoke runs the handler; a panic is a failure of the attempt.
func (t *Taker) invoke(ctx context.Context, h Handler, a *Attempt) (result json.RawMessage, err error) {
	defer func() {
		if r := recover(); r != nil {
			stack := debug.Stack()
			t.log.Error("a task panicked", "task", a.Spec.Task, "workflow", a.Workflow, "panic", r, "stack", string(stack))
			result, err = nil, panicError(r, stack)
		}
	}()
	return h.Run(ctx, a)
}

func panicError(r any, stack []byte) error {
	details, err := json.Marshal(map[string]string{"stack": string(stack[:min(len(stack), maxStack)])})
	if err != nil {
		details = nil
	}
	return &TaskError{Type: events.ErrorPanic, Message: fmt.Sprint(r), Details: details}
}
