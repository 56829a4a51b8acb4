package partition

import (
	"fmt"

	"time"

	"github.com/heddle-run/heddle/internal/authority"
	"github.com/heddle-run/heddle/shared/snapshot"
)

// published is the partition's runtime record as the next checkpoint publishes
// it (document 7).
func (r *reign) published(lease authority.Lease) snapshot.Record {
	p := r.proc
	_, dirty := r.store.Dirty()
	rec := snapshot.Record{
		SchemaVersion: snapshot.SchemaVersion,
		Authority:     lease.Published(),
		Durability:    r.host.Durability,
		Epochs:        published(r.epochs),
		Notes:         append([]string{}, r.notes...),
		Checkpoint: &snapshot.Checkpoint{
			At: snapshot.FormatTime(p.clock.at), IntervalMs: r.check.interval().Milliseconds(), DirtyBytes: uint64(dirty),
		},
	}
	rec.Backlog = p.watch.backlog()
	cursor := fmt.Sprintf("%s/%d@%d", r.host.names.Journal(), r.o.p, p.stored.Offset+1)
	if p.rewound != "" {
		cursor = p.rewound
	}
	rec.Replay = snapshot.Replay{Cursor: &cursor, PendingEvents: r.unread()}
	if r.lastID != "" {
		id := r.lastID
		rec.Replay.LastReplayedEventID = &id
	}
	return rec
}

// unread counts the inputs below the ends seen at acquisition that are not
// decided yet.
func (r *reign) unread() uint64 {
	n := uint64(r.pending.Load())
	for _, s := range inputs {
		if left := r.ends[s] - r.proc.inputs[s].next; left > 0 {
			n += uint64(left)
		}
	}
	return n
}

// backlog counts the open attempts that the partition watches.
func (w *watch) backlog() snapshot.Backlog {
	var b snapshot.Backlog
	oldest := int64(0)
	for _, at := range w.open {
		if at.row.Notified {
			b.Notified++
			continue
		}
		b.Pending++
		if oldest == 0 || at.row.Since < oldest {
			oldest = at.row.Since
		}
	}
	if oldest > 0 {
		text := snapshot.FormatTime(time.UnixMilli(oldest))
		b.OldestPendingSince = &text
	}
	return b
}
