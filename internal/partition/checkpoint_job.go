package partition

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/wire"
)

// job is one checkpoint being written, in parts (C3). Each part is a transaction
// that renews the lease, and each leaves a changelog to restore from: the
// partition's own keys come first, and a marker's replay-from still serves the
// workflows that are yet to come. (With the marker in the last part only, an owner
// that dies in between would leave workflows that are newer than the partition's
// keys.) An owner of rows that does not fit into one part goes through a redo log.
type job struct {
	r      *tenure
	snap   *store.Snapshot
	began  time.Time
	due    map[string]struct{}
	all    bool
	marker marker // of every part, but for what the parts before and after it mean

	lease      runtime.Lease  // as the part at hand renews it
	until      time.Time      // when the part at hand gives its positions up; zero: never
	record     runtime.Record // that the part at hand publishes
	told       int64          // what was committed of the journal before, or nowhere
	floor      journal.Mark   // what was committed as replay-from already
	redos      redoLogs       // as they are with the part at hand
	redo       *store.RedoLog // of the owner whose rows are given in pieces; nil: of none
	whole      bool           // all of redo is in the changelog, and counts
	owners     int            // of the snapshot, whose rows are at their keys with the part at hand
	withMarker bool           // the part at hand has a marker
	finished   bool           // all parts are written
	said       []byte         // the marker that was committed last, where all that it says may go without saying

	room  recordRoom
	bytes int
}

func encodeMarker(m *marker) []byte { return wire.Marshal(m) }

// step writes the next part.
func (j *job) step(ctx context.Context) error {
	pace := j.r.host.pace
	part, err := j.snap.Next(pace.limit())
	if err != nil {
		return err
	}
	began := time.Now()
	switch {
	case !part.Piece:
		err = j.rows(ctx, part)
	case j.whole:
		err = j.move(ctx, part)
	default:
		err = j.toRedoLog(ctx, part)
	}
	pace.took(part.Bytes, time.Since(began))
	j.bytes += part.Bytes
	return err
}

// rows writes whole owners. What is left of redo logs of theirs counts no more.
func (j *job) rows(ctx context.Context, part store.Part) error {
	last := ""
	for i := range part.Rows {
		if owner := part.Rows[i].Owner; i == 0 || owner != last {
			j.redos.end(owner)
			last = owner
		}
	}
	j.owners = part.Owners
	return j.transact(ctx, j.rowsOf(part), part.Owners)
}

// toRedoLog writes a piece of an owner's rows to its redo log, which counts from the
// last piece on.
func (j *job) toRedoLog(ctx context.Context, part store.Part) error {
	if j.redo == nil {
		j.redo = &store.RedoLog{Area: j.redos.free(), Owner: part.Rows[0].Owner}
	}
	records := j.chunks(part.Rows)
	if !part.Ends {
		return j.transact(ctx, records, noMarker)
	}
	j.redos.end(j.redo.Owner)
	j.redos.counts = append(j.redos.counts[:len(j.redos.counts):len(j.redos.counts)], *j.redo)
	err := j.transact(ctx, records, part.Owners)
	if err == nil {
		j.whole = true
		j.snap.Again(part.Owners - 1)
	}
	return err
}

// move writes a piece of the rows that a redo log has to their keys. With the last
// the log has done its work.
func (j *job) move(ctx context.Context, part store.Part) error {
	if !part.Ends {
		return j.transact(ctx, j.rowsOf(part), part.Owners+1) // its state is there
	}
	j.redos.end(j.redo.Owner)
	j.owners, j.redo, j.whole = part.Owners, nil, false
	return j.transact(ctx, j.rowsOf(part), part.Owners)
}

// rowsOf are the records of a part's rows.
func (j *job) rowsOf(part store.Part) []*kgo.Record {
	topic := j.r.host.names.State()
	records := make([]*kgo.Record, 0, len(part.Rows)+4)
	for i := range part.Rows {
		rec := j.room.record()
		*rec = kgo.Record{Topic: topic, Partition: j.r.o.p, Key: part.Rows[i].Key, Value: part.Rows[i].Value, Headers: kafka.StateFormat}
		records = append(records, rec)
	}
	return records
}

// unmarked says that a part has no marker: what it writes means nothing yet.
const noMarker = -1

// transact writes one part: records, lease, and, if the state of so many owners is
// in the changelog with it, the marker that says so and the committed positions. What
// the last one has said is not said again: an idle partition renews its lease, and
// writes nothing else.
func (j *job) transact(ctx context.Context, records []*kgo.Record, owners int) error {
	h := j.r.host
	j.withMarker = owners != noMarker
	var commit *kafka.Commit
	if j.withMarker {
		commit = j.addMarker(owners, len(records) > 0)
	}
	records = append(records, j.redos.tombstones(h.names.State(), j.r.o.p, j.withMarker)...)
	if j.withMarker {
		records = append(records, kafka.Placed(h.names.State(), j.r.o.p, markerKey.Append(nil), j.said, kafka.StateFormat...))
	}
	record, err := json.Marshal(j.published(commit))
	if err != nil {
		return err
	}
	records = append(records, kafka.Placed(h.names.Authority(), j.r.o.p, authorityKey(j.r.o.p), record))
	err = j.r.txn.Run(ctx, records, commit)
	for h.Flaws.UnfencedCheckpoint.On() && deposed(err) {
		if err = j.r.txn.Fence(ctx); err == nil {
			err = j.r.txn.Run(ctx, records, commit)
		}
	}
	return err
}

// mark makes the marker of a part, and the positions that are committed with it. A part
// without rows has none if there is nothing new to say.
func (j *job) addMarker(owners int, rows bool) *kafka.Commit {
	j.marker.ReplayFrom = j.replayFrom(owners)
	j.marker.Redos = j.redos.counts
	commit := j.commit()
	said := encodeMarker(&j.marker)
	if !rows && bytes.Equal(said, j.said) {
		j.withMarker = false
		return nil
	}
	j.said = said
	return commit
}

// replayFrom is what the workflows need that are not written yet. It never goes back
// behind what an earlier part has committed: the changelog has all up to there,
// and the journal may be trimmed to it.
func (j *job) replayFrom(owners int) journal.Mark {
	if from := j.snap.ReplayFrom(owners); !from.Before(j.floor) {
		return from
	}
	return j.floor
}

// ended reports whether the last part is written.
func (j *job) ended() bool { return j.redo == nil && j.owners == j.snap.Owners() }

// abandoned are the redo logs after a part that is not known to be written: of the
// one at hand nobody knows what is there.
func (j *job) abandoned(known redoLogs) redoLogs {
	if j.redo != nil && !j.whole {
		known.spent = append(known.spent[:len(known.spent):len(known.spent)], spentLog{*j.redo, j.withMarker})
	}
	return known
}

// outcome is what became of a transaction, by its error.
func outcome(err error) kafka.Outcome {
	var txn *kafka.TxnError
	if errors.As(err, &txn) {
		return txn.Outcome
	}
	return kafka.Failed
}

// deposed says of a transaction's error whether a newer owner has fenced it off.
func deposed(err error) bool { return outcome(err) == kafka.Deposed }

// commit is the durable cursor of the partition as of the checkpoint, visible to lag
// tools.
func (j *job) commit() *kafka.Commit {
	return j.r.commitOf(&j.marker, j.until)
}

// commitOf is the cursor that a marker commits; nil for one that goes without, as it
// does where there is no member, or no time left.
func (r *tenure) commitOf(m *marker, until time.Time) *kafka.Commit {
	h := r.host
	member, generation := h.Member()
	late := !until.IsZero() && !time.Now().Before(until)
	if m.Bare = m.Bare || member == "" || late; m.Bare {
		return nil
	}
	c := &kafka.Commit{Group: h.names.PlannerGroup(), Member: member, Generation: generation, Within: h.Settings.Lease / 4, Until: until,
		Positions: map[string]map[int32]kafka.Position{}}
	at := m.cursor()
	for i, topic := range h.cursorTopics() {
		if at[i] == nowhere {
			continue
		}
		c.Positions[topic] = map[int32]kafka.Position{r.o.p: {Offset: at[i], LeaderEpoch: -1}}
	}
	return c
}
