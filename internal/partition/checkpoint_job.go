package partition

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/authority"
	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/snapshot"
	"github.com/heddle-run/heddle/shared/wire"
)

// job is one checkpoint being written.
type job struct {
	r       *reign
	snap    *store.Snapshot
	began   time.Time
	lease   authority.Lease
	since   map[string]journal.Mark // of the selected workflows
	due     map[string]struct{}
	all     bool
	epochs  []epochRow
	cursors []cursorRow
	covered int64
	record  snapshot.Record
	room    recordRoom
	bytes   int
}

func (j *job) marker(replayFrom journal.Mark) *marker {
	return &marker{
		Applied: j.snap.Applied, ReplayFrom: replayFrom, Epochs: j.epochs, Cursors: j.cursors,
		Topic: j.r.id.journal, Covered: j.covered,
	}
}

func encodeMarker(m *marker) []byte { return wire.Marshal(m) }

// write writes the checkpoint in one transaction, or, when it is too large for
// one, in several by workflow. Each of these is a checkpoint of its own: the
// first has the partition's keys, and each marker's replay-from still serves the
// workflows that are yet to come. (C3 with the marker in the last one only would
// leave workflows that are newer than the partition's keys, if the owner dies in
// between.)
func (j *job) write(ctx context.Context) error {
	parts, err := j.split()
	if err != nil {
		return err
	}
	for i, part := range parts {
		if err := j.transact(ctx, part, j.replayFrom(parts[i+1:])); err != nil {
			return err
		}
	}
	return nil
}

// part is what one transaction writes of the changelog.
type part struct {
	workflows []string
	records   []*kgo.Record
	bytes     int
}

// split reads the due rows. The partition's own go into the first part.
func (j *job) split() ([]part, error) {
	own := part{}
	parts := []part{{}}
	topic := j.r.host.names.State()
	err := j.snap.Each(func(workflow string, key, value []byte) error {
		rec := j.room.record()
		*rec = kgo.Record{Topic: topic, Partition: j.r.o.p, Key: key, Value: value}
		size := len(key) + len(value)
		j.bytes += size
		if workflow == "" {
			own.records = append(own.records, rec)
			return nil
		}
		at := &parts[len(parts)-1]
		if n := len(at.workflows); n == 0 || at.workflows[n-1] != workflow {
			if at.bytes >= checkpointBytes {
				parts = append(parts, part{})
				at = &parts[len(parts)-1]
			}
			at.workflows = append(at.workflows, workflow)
		}
		at.records = append(at.records, rec)
		at.bytes += size
		return nil
	})
	parts[0].records = append(own.records, parts[0].records...)
	return parts, err
}

// replayFrom is what the workflows need that are not written yet.
func (j *job) replayFrom(later []part) journal.Mark {
	from := j.snap.ReplayFrom
	for _, p := range later {
		for _, w := range p.workflows {
			if since := j.since[w]; since.Before(from) {
				from = since
			}
		}
	}
	return from
}

// transact writes one part: rows, marker, lease, committed positions.
func (j *job) transact(ctx context.Context, p part, replayFrom journal.Mark) error {
	h := j.r.host
	record, err := json.Marshal(j.record)
	if err != nil {
		return err
	}
	records := append(p.records,
		kafka.Placed(h.names.State(), j.r.o.p, markerKey.Append(nil), encodeMarker(j.marker(replayFrom))),
		kafka.Placed(h.names.Authority(), j.r.o.p, []byte(strconv.Itoa(int(j.r.o.p))), record),
	)
	err = j.r.txn.Run(ctx, records, j.commit())
	for h.Flaws.UnfencedCheckpoint && deposed(err) {
		if err = j.r.txn.Fence(ctx); err == nil {
			err = j.r.txn.Run(ctx, records, j.commit())
		}
	}
	return err
}

// deposed says of a transaction's error whether a newer owner has fenced it off.
func deposed(err error) bool {
	var txn *kafka.TxnError
	return errors.As(err, &txn) && txn.Outcome == kafka.Deposed
}

// commit are the committed positions: the durable cursor, visible to lag tools.
func (j *job) commit() *kafka.Commit {
	h := j.r.host
	member, generation := h.Member()
	if member == "" {
		return nil
	}
	at := func(offset int64) map[int32]kafka.Position {
		return map[int32]kafka.Position{j.r.o.p: {Offset: offset, LeaderEpoch: -1}}
	}
	c := &kafka.Commit{Group: h.names.PlannerGroup(), Member: member, Generation: generation,
		Positions: map[string]map[int32]kafka.Position{h.names.Journal(): at(j.snap.Applied.Offset + 1)}}
	for _, cur := range j.cursors {
		c.Positions[h.router.topic(cur.Source)] = at(cur.Next)
	}
	return c
}
