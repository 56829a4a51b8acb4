package planner

import (
	"cmp"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// readyEntry is a place in the admission queue: by priority, then causal depth, then
// order.
type readyEntry struct {
	rank  uint8 // of the priority
	depth uint32
	id    events.RunnableID
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

// write writes the rows of those that this record has queued.
func (q *readyQueue) write() {
	for _, e := range q.queued {
		q.tx.Create(e.key(q.id), &present{Since: q.now})
	}
	q.queued = q.queued[:0]
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
	if q.spend.limited {
		room = min(room, q.spend.events)
	}
	var queue []readyEntry
	rows.Scan(q.tx, rows.Key{Table: rows.Ready, Workflow: q.id}, func(k rows.Key, _ *present) bool {
		queue = append(queue, readyEntry{uint8(k.A), uint32(k.B), events.RunnableID(k.C)})
		return len(queue) < room
	})
	return queue
}

// waits reports whether runnables are ready that there is room for.
func (q *readyQueue) waits() bool {
	return q.head.Status == Running && q.head.Ready > 0 && q.room() > 0
}

// room is how many more attempts the workflow may have active.
func (q *readyQueue) room() int { return q.limit() - int(q.head.Slots+q.head.Asking) }

// limit is how many attempts the workflow may have active.
func (q *readyQueue) limit() int {
	limit := q.p.cfg.MaxActive
	if own := q.options().MaxConcurrency; own > 0 {
		limit = min(limit, own)
	}
	return limit
}
