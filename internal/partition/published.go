package partition

import (
	"slices"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/runtime"
)

// published is the partition's runtime record as the next checkpoint publishes
// it.
func (r *tenure) published(lease runtime.Lease) runtime.Record {
	p := r.proc
	_, dirty := r.store.Dirty()
	rec := runtime.Record{
		SchemaVersion: runtime.SchemaVersion,
		Authority:     lease.Published(),
		Durability:    r.host.Durability,
		Epochs:        published(r.epochs),
		Notes:         slices.Concat(p.Waiting(), r.notes, r.trim.notes(), r.host.clock.notes()),
		Checkpoint: &runtime.Checkpoint{
			At: runtime.FormatTime(p.Now()), IntervalMs: r.check.interval().Milliseconds(), DirtyBytes: uint64(dirty),
		},
	}
	rec.Backlog = p.Backlog()
	r.host.stores.counted(r.store, rec.Backlog.Pools)
	state := runtime.ReplayState{Cursor: p.Cursor(), Pending: r.unread(), LastID: r.lastID, Deferred: rec.Backlog.Deferred > 0}
	rec.Replay = state.Published()
	return rec
}

// published is the record as the part at hand publishes it: with the cursor that the
// planners' group has once the part is committed, unless an operator has asked for one.
func (j *job) published(commit *kafka.Commit) runtime.Record {
	rec, at := j.record, j.told
	if commit != nil {
		at = j.marker.needs()
	}
	if rec.Replay.Cursor == nil && at != nowhere {
		text := runtime.ReplayCursor(j.r.host.names.Journal(), j.r.o.p, at)
		rec.Replay.Cursor = &text
	}
	return rec
}

// unread counts the inputs below the ends seen at acquisition that are not
// decided yet.
func (r *tenure) unread() uint64 {
	n := uint64(r.pending.Load())
	for _, s := range loop.Inputs {
		if left := r.ends[s] - r.proc.Input(s).Next; left > 0 {
			n += uint64(left)
		}
	}
	return n
}
