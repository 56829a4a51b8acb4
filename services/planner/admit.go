package planner

import (
	"cmp"
	"slices"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/rows"
)

// readyEntry is a place in the admission queue: by priority, then causal depth, then
// order.
type readyEntry struct {
	rank  uint8 // of the priority
	depth uint32
	id    events.RunnableID
}

// queue puts a runnable into the admission queue. Most leave it in the same
// record: the row is written when the record is whole, or the queue is read.
func (t *turn) queue(e readyEntry) { t.queued = append(t.queued, e) }

// unqueue takes a runnable out of the admission queue.
func (t *turn) unqueue(e readyEntry) {
	if i := slices.Index(t.queued, e); i >= 0 {
		t.queued = slices.Delete(t.queued, i, i+1)
		return
	}
	t.tx.Delete(e.key(t.wf))
}

// place is the place of a runnable in the admission queue.
func (r *runnable) place(id events.RunnableID) readyEntry {
	return readyEntry{r.policy().Priority.Rank(), r.Depth, id}
}

// key is the row of a place.
func (e readyEntry) key(wf string) rows.Key {
	return rows.Key{Table: rows.Ready, Workflow: wf, A: uint64(e.rank), B: uint64(e.depth), C: uint64(e.id)}
}

// compare orders places.
func (e readyEntry) compare(f readyEntry) int {
	return cmp.Or(cmp.Compare(e.rank, f.rank), cmp.Compare(e.depth, f.depth), cmp.Compare(e.id, f.id))
}

// writeQueue writes the rows of those that this record has queued.
func (t *turn) writeQueue() {
	for _, e := range t.queued {
		t.tx.Create(e.key(t.wf), &present{Since: t.now})
	}
	t.queued = t.queued[:0]
}

// admit dispatches ready runnables in order while there is room. It says
// whether something else has to travel because of it.
func (t *turn) admit() bool {
	if t.head.Status != Running {
		t.fresh = t.fresh[:0]
		return false
	}
	for _, e := range t.candidates() {
		if t.enough() {
			break
		}
		t.dispatch(e.id)
		if t.head.Status != Running {
			break // a shaping failed and halted the workflow
		}
	}
	t.fresh = t.fresh[:0]
	return len(t.work) > 0
}

// candidates are the next runnables of the admission queue that have room. When
// nobody waited before this turn, the queue need not be read.
func (t *turn) candidates() []readyEntry {
	room := t.room()
	if t.head.Ready == 0 || room <= 0 {
		return nil
	}
	if t.head.Ready == uint64(len(t.fresh)) {
		slices.SortFunc(t.fresh, readyEntry.compare)
		return t.fresh[:min(len(t.fresh), room)]
	}
	t.writeQueue()
	var queue []readyEntry
	rows.Scan(t.tx, rows.Key{Table: rows.Ready, Workflow: t.wf}, func(k rows.Key, _ *present) bool {
		queue = append(queue, readyEntry{uint8(k.A), uint32(k.B), events.RunnableID(k.C)})
		return len(queue) < room
	})
	return queue
}

// room is how many more attempts the workflow may have active.
func (t *turn) room() int {
	limit := t.p.cfg.MaxActive
	if own := t.options().MaxConcurrency; own > 0 {
		limit = min(limit, own)
	}
	return limit - int(t.head.Slots)
}

// dispatch records the intent to run the next attempt.
func (t *turn) dispatch(id events.RunnableID) {
	r := t.runnable(id)
	c := t.component(r.Component)
	pol := r.policy()
	input, err := t.shape(c, r, t.now)
	if err != nil {
		t.failFor(id, events.TaskError{Type: events.ErrorExpression, Message: err.Error(), NonRetryable: true}, "", failedAttempt)
		return
	}
	if pol.Mode == policy.External {
		t.emit(&events.RunnableDispatched{Runnable: id, Attempt: r.Attempt + 1})
		t.emit(&events.RunnableNotified{Runnable: id, Channel: "external", Detached: true})
		return
	}
	t.spend.admitted = true
	t.spend.tasks -= len(input) + len(t.setup().Context) + len(t.given(r.Scope).Context)
	t.emit(&events.RunnableDispatched{Runnable: id, Attempt: r.Attempt + 1, Queue: queueOf(c, pol)})
}

// enough says whether this decision has admitted as much as it may: the end of
// an attempt that is open lets the others in.
func (t *turn) enough() bool {
	s := &t.spend
	return (s.tasks < 0 || s.steps.Left < t.p.cfg.Budget.Steps/2) && (s.admitted || t.othersEnd())
}

// othersEnd says whether an attempt is open that its taker ends, or will be lost. One
// that is completed by its token may last for ever, and nobody waits for it.
func (t *turn) othersEnd() (found bool) {
	if t.head.Slots == 0 {
		return false
	}
	rows.Scan(t.tx, rows.Key{Table: rows.Runnable, Workflow: t.wf}, func(_ rows.Key, r *runnable) bool {
		found = r.Status == runActive && !r.External && !r.Detached
		return !found
	})
	t.spend.alone = !found
	return found
}

// shape is the input that a step's task gets, as of the record that dispatched it.
func (t *turn) shape(c *definition.Component, r *runnable, dispatched int64) ([]byte, error) {
	a := activation{scope: r.Scope, parents: r.Parents, depth: r.Depth, input: r.Input}
	if c.Input == nil && c.Params == nil || len(r.Input) > 0 {
		return t.value(c, a), nil // an edited input is what the task gets
	}
	env := t.envOver(c, a, t.runContext(r))
	env.Now = unixMilli(dispatched)
	return c.Shape(env)
}
