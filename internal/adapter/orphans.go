package adapter

import (
	"context"
	"sync"

	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/shared/events"
)

// orphans are works to be cancelled whose attempts run nowhere: their executor has died, or has handed them back. They
// are cancelled one after the other, in a goroutine that lives while there are any.
type orphans struct {
	cancel func(context.Context, executor.Ref)

	mu      sync.Mutex
	waiting []executor.Ref
	busy    bool
}

// Cancelled hears that an attempt is cancelled that has not begun in this worker: what it had begun elsewhere has to
// end. It returns at once.
func (h *Handler) Cancelled(c *events.TaskCancel) {
	token := c.Token
	if len(c.Work) > 0 {
		token = c.Work
	}
	h.orphans.add(executor.Ref{Key: keyOf(token)})
}

func (o *orphans) add(ref executor.Ref) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = append(o.waiting, ref)
	if !o.busy {
		o.busy = true
		go o.run()
	}
}

func (o *orphans) run() {
	for {
		o.mu.Lock()
		if len(o.waiting) == 0 {
			o.busy, o.waiting = false, nil
			o.mu.Unlock()
			return
		}
		next := o.waiting[0]
		o.waiting = o.waiting[1:]
		o.mu.Unlock()
		o.cancel(context.Background(), next)
	}
}
