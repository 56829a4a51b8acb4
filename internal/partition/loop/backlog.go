package loop

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/machine"
)

// maxQueues is how many queues a backlog names: it is part of a record of bounded size.
const maxQueues = 64

// backlog counts the open attempts of each queue as records open, notify and close
// them, so that publishing the counts takes no walk over all attempts. It is in memory
// like the watch whose attempts it counts, and recovery makes it again with the watch.
type backlog struct {
	queues map[string]*queued // those with an open attempt
}

// queued is what the backlog knows of one queue.
type queued struct {
	notified       uint64
	pending        uint64
	oldest, newest *watched // the list of the pending attempts, by the time of their dispatch
}

// countedAlike reports whether an attempt's place in the backlog is the same by both rows.
func countedAlike(x, y *machine.Attempt) bool {
	return x.Queue == y.Queue && x.Notified == y.Notified && x.Since == y.Since
}

// add counts an open attempt. The search for its place in the list begins at the newest
// end, as dispatches come nearly in the order of their time.
func (b *backlog) add(at *watched) {
	q := b.queues[at.row.Queue]
	if q == nil {
		q = &queued{}
		b.queues[at.row.Queue] = q
	}
	if at.row.Notified {
		q.notified++
		return
	}
	q.pending++
	older := q.newest
	for older != nil && older.row.Since > at.row.Since {
		older = older.older
	}
	q.link(at, older)
}

// link puts an attempt into the list behind an older one; nil: as the oldest.
func (q *queued) link(at, older *watched) {
	newer := q.oldest
	if older != nil {
		newer, older.newer = older.newer, at
	} else {
		q.oldest = at
	}
	if newer != nil {
		newer.older = at
	} else {
		q.newest = at
	}
	at.older, at.newer = older, newer
}

// remove takes an attempt out of the counts, while its row is still as it was added.
func (b *backlog) remove(at *watched) {
	q := b.queues[at.row.Queue]
	if at.row.Notified {
		q.notified--
	} else {
		q.pending--
		q.unlink(at)
	}
	if q.notified == 0 && q.pending == 0 {
		delete(b.queues, at.row.Queue)
	}
}

func (q *queued) unlink(at *watched) {
	if at.older != nil {
		at.older.newer = at.newer
	} else {
		q.oldest = at.newer
	}
	if at.newer != nil {
		at.newer.older = at.older
	} else {
		q.newest = at.older
	}
	at.older, at.newer = nil, nil
}

// since is when the oldest pending attempt was dispatched, in Unix ms; 0: none is pending.
func (q *queued) since() int64 {
	if q.oldest == nil {
		return 0
	}
	return q.oldest.row.Since
}

// Backlog counts the open attempts that the partition watches, and names the queues
// whose oldest pending attempt waits longest.
func (p *Processor) Backlog() runtime.Backlog {
	return p.watch.backlog.published()
}

func (b *backlog) published() runtime.Backlog {
	var all runtime.Backlog
	var oldest int64
	for _, q := range b.queues { // order: counted
		all.Pending += q.pending
		all.Notified += q.notified
		if since := q.since(); since > 0 && (oldest == 0 || since < oldest) {
			oldest = since
		}
	}
	all.OldestPendingSince = published(oldest)
	for _, name := range b.longest() {
		q := b.queues[name]
		if all.Queues == nil {
			all.Queues = map[string]runtime.QueueBacklog{}
		}
		all.Queues[name] = runtime.QueueBacklog{Pending: q.pending, Notified: q.notified, OldestPendingSince: published(q.since())}
	}
	return all
}

// longest are the names of at most maxQueues queues: those first in which an attempt
// has been pending longest, those without a pending one last.
func (b *backlog) longest() []string {
	names := slices.SortedFunc(maps.Keys(b.queues), func(x, y string) int {
		// As an unsigned number, 1 below 0 is behind all others.
		xs, ys := uint64(b.queues[x].since()-1), uint64(b.queues[y].since()-1)
		return cmp.Or(cmp.Compare(xs, ys), cmp.Compare(x, y))
	})
	return names[:min(len(names), maxQueues)]
}

func published(ms int64) *string {
	if ms == 0 {
		return nil
	}
	text := runtime.FormatTime(time.UnixMilli(ms))
	return &text
}
