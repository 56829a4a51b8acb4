package partition

import (
	"github.com/heddle-run/heddle/internal/authority"
	"github.com/heddle-run/heddle/internal/backlog"
	"github.com/heddle-run/heddle/internal/replay"
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
		Notes:         append(p.waiting(), r.notes...),
		Checkpoint: &snapshot.Checkpoint{
			At: snapshot.FormatTime(p.clock.at), IntervalMs: r.check.interval().Milliseconds(), DirtyBytes: uint64(dirty),
		},
	}
	rec.Backlog = p.watch.backlog()
	state := replay.State{Cursor: p.rewound, Pending: r.unread(), LastID: r.lastID}
	if state.Cursor == "" {
		state.Cursor = replay.Cursor(r.host.names.Journal(), r.o.p, p.stored.Offset+1)
	}
	rec.Replay = state.Published()
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
	var tally backlog.Tally
	for _, at := range w.open {
		tally.Add(at.row.Since, at.row.Notified)
	}
	return tally.Published()
}
