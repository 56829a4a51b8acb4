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

// put puts a runnable into the admission queue. Most leave it in the same
// record: the row is written when the record is whole, or the queue is read.
func (q *readyQueue) put(e readyEntry) { q.queued = append(q.queued, e) }

// remove takes a runnable out of the admission queue.
func (q *readyQueue) remove(e readyEntry) {
	if i := slices.Index(q.queued, e); i >= 0 {
		q.queued = slices.Delete(q.queued, i, i+1)
		return
	}
	q.tx.Delete(e.key(q.id))
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

// write writes the rows of those that this record has queued.
func (q *readyQueue) write() {
	for _, e := range q.queued {
		q.tx.Create(e.key(q.id), &present{Since: q.now})
	}
	q.queued = q.queued[:0]
}

// admit dispatches ready runnables in order while there is room. It says
// whether something else has to travel because of it.
func (t *turn) admit() bool {
	if t.head.Status != Running {
		t.queue.fresh = t.queue.fresh[:0]
		return false
	}
	for _, e := range t.queue.next() {
		if t.enough() {
			break
		}
		t.dispatch(e.id)
		if t.head.Status != Running {
			break // a shaping failed and halted the workflow
		}
	}
	t.queue.fresh = t.queue.fresh[:0]
	return len(t.flow.work) > 0
}

// next gives the next runnables of the admission queue that have room. When
// nobody waited before this turn, the queue need not be read.
func (q *readyQueue) next() []readyEntry {
	room := q.room()
	if q.head.Ready == 0 || room <= 0 {
		return nil
	}
	if q.head.Ready == uint64(len(q.fresh)) {
		slices.SortFunc(q.fresh, readyEntry.compare)
		return q.fresh[:min(len(q.fresh), room)]
	}
	q.write()
	var queue []readyEntry
	rows.Scan(q.tx, rows.Key{Table: rows.Ready, Workflow: q.id}, func(k rows.Key, _ *present) bool {
		queue = append(queue, readyEntry{uint8(k.A), uint32(k.B), events.RunnableID(k.C)})
		return len(queue) < room
	})
	return queue
}

// room is how many more attempts the workflow may have active.
func (q *readyQueue) room() int {
	limit := q.p.cfg.MaxActive
	if own := q.options().MaxConcurrency; own > 0 {
		limit = min(limit, own)
	}
	return limit - int(q.head.Slots)
}

// dispatch records the intent to run the next attempt.
func (t *turn) dispatch(id events.RunnableID) {
	r := t.runs.get(id)
	c := t.component(r.Component)
	pol := r.policy()
	input, err := t.contexts.shape(c, r, t.now)
	if err != nil {
		t.ends.failFor(id, events.TaskError{Type: events.ErrorExpression, Message: err.Error(), NonRetryable: true}, "", failedAttempt)
		return
	}
	if pol.Mode == policy.External {
		t.emit(&events.RunnableDispatched{Runnable: id, Attempt: r.Attempt + 1})
		t.emit(&events.RunnableNotified{Runnable: id, Channel: "external", Detached: true})
		return
	}
	t.spend.admitted = true
	t.spend.tasks -= len(input) + len(t.setup().Context) + len(t.scopes.given(r.Scope).Context)
	t.emit(&events.RunnableDispatched{Runnable: id, Attempt: r.Attempt + 1, Queue: queueOf(c, pol)})
}

// enough says whether this decision has admitted as much as it may: the end of
// an attempt that is open lets the others in.
func (t *turn) enough() bool {
	s := &t.spend
	return (s.tasks < 0 || s.steps.Left < t.p.cfg.Budget.Steps/2) && (s.admitted || t.runs.othersEnd())
}

// othersEnd says whether an attempt is open that its taker ends, or will be lost. One
// that is completed by its token may last for ever, and nobody waits for it.
func (rs *runnables) othersEnd() (found bool) {
	if rs.head.Slots == 0 {
		return false
	}
	rows.Scan(rs.tx, rows.Key{Table: rows.Runnable, Workflow: rs.id}, func(_ rows.Key, r *runnable) bool {
		found = r.Status == runActive && !r.External && !r.Detached
		return !found
	})
	rs.spend.alone = !found
	return found
}

// shape is the input that a step's task gets, as of the record that dispatched it.
func (cs *contexts) shape(c *definition.Component, r *runnable, dispatched int64) ([]byte, error) {
	a := activation{scope: r.Scope, parents: r.Parents, depth: r.Depth, input: r.Input}
	if c.Input == nil && c.Params == nil || len(r.Input) > 0 {
		return cs.facts.value(c, a), nil // an edited input is what the task gets
	}
	env := cs.envOver(c, a, cs.given(r))
	env.Now = unixMilli(dispatched)
	return c.Shape(env)
}
