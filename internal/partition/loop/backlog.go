package loop

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// maxQueues is how many queues a backlog names: it is part of a record of bounded size.
const maxQueues = 64

// maxPools is how many pools it names.
const maxPools = 64

// backlog counts the open attempts of each queue as records open, notify and close
// them, so that publishing the counts takes no walk over all attempts. It is in memory
// like the watch whose attempts it counts, and recovery makes it again with the watch.
type backlog struct {
	queues map[string]*queued // those with an open attempt
}

// queued is what the backlog knows of one queue.
type queued struct {
	pending  line // by the time of their dispatch
	notified line // by the time when a worker first said that it has them
	deferred uint64
}

// line is a list of attempts, by a time.
type line struct {
	n              uint64
	oldest, newest *watched
}

// statusOf is what the dispatch record of an open attempt says.
func statusOf(row *machine.Attempt) delivery.State {
	if row.Notified && !row.Waits {
		return delivery.Notified
	}
	return delivery.Pending
}

func (at *watched) status() delivery.State { return statusOf(&at.row) }

// line is that of a status of open attempts.
func (q *queued) line(status delivery.State) *line {
	if status == delivery.Notified {
		return &q.notified
	}
	return &q.pending
}

// placeOf is what an attempt's place in its list goes by, in Unix ms.
func placeOf(row *machine.Attempt) int64 {
	if statusOf(row) == delivery.Notified {
		return row.NotifiedAt
	}
	return row.Since
}

// countedAlike reports whether an attempt's place in the backlog is the same by both rows.
func countedAlike(x, y *machine.Attempt) bool {
	return x.Queue == y.Queue && x.Notified == y.Notified && x.Since == y.Since && x.NotifiedAt == y.NotifiedAt &&
		x.Waits == y.Waits && x.Deferred == y.Deferred
}

// add counts an open attempt. The search for its place in the list begins at the newest
// end, as dispatches come nearly in the order of their time.
func (b *backlog) add(at *watched) {
	q := b.queues[at.row.Queue]
	if q == nil {
		q = &queued{}
		b.queues[at.row.Queue] = q
	}
	if at.row.Deferred {
		q.deferred++
	}
	l := q.line(at.status())
	older := l.newest
	for older != nil && placeOf(&older.row) > placeOf(&at.row) {
		older = older.older
	}
	l.link(at, older)
}

// link puts an attempt into the list behind an older one; nil: as the oldest.
func (l *line) link(at, older *watched) {
	l.n++
	newer := l.oldest
	if older != nil {
		newer, older.newer = older.newer, at
	} else {
		l.oldest = at
	}
	if newer != nil {
		newer.older = at
	} else {
		l.newest = at
	}
	at.older, at.newer = older, newer
}

// remove takes an attempt out of the counts, while its row is still as it was added.
func (b *backlog) remove(at *watched) {
	q := b.queues[at.row.Queue]
	if at.row.Deferred {
		q.deferred--
	}
	q.line(at.status()).unlink(at)
	if q.notified.n == 0 && q.pending.n == 0 {
		delete(b.queues, at.row.Queue)
	}
}

func (l *line) unlink(at *watched) {
	l.n--
	if at.older != nil {
		at.older.newer = at.newer
	} else {
		l.oldest = at.newer
	}
	if at.newer != nil {
		at.newer.older = at.older
	} else {
		l.newest = at.older
	}
	at.older, at.newer = nil, nil
}

// since is when the oldest pending attempt was dispatched, in Unix ms; 0: none is pending.
func (q *queued) since() int64 {
	if q.pending.oldest == nil {
		return 0
	}
	return q.pending.oldest.row.Since
}

// Backlog counts the deliveries of the partition: its open attempts, and those that have ended not long ago. It names
// the queues whose oldest pending attempt waits longest.
func (p *Processor) Backlog() runtime.Backlog {
	all := p.watch.backlog.published()
	p.ended.publish(&all, p.clock.now)
	all.Pools = p.pools()
	return all
}

// pools are the pools of runners that the machine has.
func (p *Processor) pools() map[string]runtime.PoolBacklog {
	pooling, ok := p.Machine.(machine.Pooling)
	if !ok || p.fault != nil {
		return nil
	}
	var list []events.PoolSummary
	if p.contained(func() { list = pooling.Pools(rows.Begin(p.State), p.clock.now, maxPools) }) != "" || len(list) == 0 {
		return nil
	}
	all := make(map[string]runtime.PoolBacklog, len(list))
	for i := range list {
		s := &list[i]
		one := runtime.PoolBacklog{
			Connected: s.Connected, Lost: s.Lost, Draining: s.Draining, PassedOver: s.Passed, Slots: s.Slots, Free: s.Free,
			Queued: s.Queued, Running: s.Running,
		}
		if s.Oldest != "" {
			one.OldestQueuedSince = &s.Oldest
		}
		all[s.Name] = one
	}
	return all
}

func (b *backlog) published() runtime.Backlog {
	var all runtime.Backlog
	var oldest int64
	for _, q := range b.queues { // order: counted
		all.Pending += q.pending.n
		all.Notified += q.notified.n
		all.Deferred += q.deferred
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
		all.Queues[name] = runtime.QueueBacklog{
			Pending: q.pending.n, Notified: q.notified.n, Deferred: q.deferred, OldestPendingSince: published(q.since()),
		}
	}
	return all
}

// longest are the names of at most maxQueues queues: those first in which an attempt
// has been pending longest, those without a pending one last.
func (b *backlog) longest() []string {
	names := b.byWaiting()
	return names[:min(len(names), maxQueues)]
}

// byWaiting are the names of all queues in that order.
func (b *backlog) byWaiting() []string {
	return slices.SortedFunc(maps.Keys(b.queues), func(x, y string) int {
		// As an unsigned number, 1 below 0 is behind all others.
		xs, ys := uint64(b.queues[x].since()-1), uint64(b.queues[y].since()-1)
		return cmp.Or(cmp.Compare(xs, ys), cmp.Compare(x, y))
	})
}

func published(ms int64) *string {
	if ms == 0 {
		return nil
	}
	text := runtime.FormatTime(time.UnixMilli(ms))
	return &text
}
