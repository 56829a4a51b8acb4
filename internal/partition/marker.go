package partition

import (
	"fmt"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// marker is what a checkpoint says about itself in the changelog (C1).
type marker struct {
	Applied    journal.Mark    // guards the partition's keys
	ReplayFrom journal.Mark    // the last record that no dirty workflow needs
	Topic      []byte          // id of the journal topic
	Epochs     []epochRow      // of the last owners, oldest first
	Cursors    []cursorRow     // of the input logs
	Redos      []store.RedoLog // over what is at their rows' keys
	Bare       bool            // its checkpoint went without committed positions
	Covered    int64           // below this offset of the journal nothing counts that is behind Applied; 0: it is not known
}

// Fields implements wire.Message.
func (m *marker) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "applied", &m.Applied)
	wire.Nested(c, 2, "replay_from", &m.ReplayFrom)
	c.Bytes(3, "topic", &m.Topic)
	wire.Repeated(c, 4, "epochs", &m.Epochs)
	wire.Repeated(c, 5, "cursors", &m.Cursors)
	wire.Int(c, 6, "covered", &m.Covered)
	wire.Repeated(c, 7, "redos", &m.Redos)
	c.Bool(8, "bare", &m.Bare)
}

// covered is how far the journal may have expired without a loss to a state that
// has the checkpoint's Applied: what stands behind that record is void, or a
// control record.
func (m *marker) covered() int64 {
	if m.Applied.IsZero() {
		return 0
	}
	return max(m.Applied.Offset+1, m.Covered)
}

// needs is the first offset of the journal that a restore from the checkpoint has
// to read.
func (m *marker) needs() int64 {
	switch {
	case m.ReplayFrom.IsZero():
		return 0
	case m.ReplayFrom.Position == m.Applied.Position:
		return m.covered()
	}
	return m.ReplayFrom.Offset + 1
}

// epochRow is the place of an owner's takeover record in the journal, and how long its
// leases last, which is asked for when the journal may have been trimmed beyond it.
type epochRow struct {
	Epoch  uint64
	Offset int64
	Term   int64 // ms, by the clock of the owner; 0 for the record of a loss, which acquires nothing
}

// Fields implements wire.Message.
func (e *epochRow) Fields(c *wire.Codec) {
	wire.Int(c, 1, "epoch", &e.Epoch)
	wire.Int(c, 2, "offset", &e.Offset)
	wire.Int(c, 3, "term", &e.Term)
}

// takeover is the row of the record that begins an epoch.
func takeover(rec *events.Record, offset int64) epochRow {
	e := epochRow{Epoch: rec.Position.Epoch, Offset: offset}
	for _, ev := range rec.Events {
		if a, ok := ev.(*events.AuthorityAcquired); ok {
			e.Term = a.LeasedUntil - rec.Time
		}
	}
	return e
}

// cursorRow is how far an input log is read, dropped inputs included.
type cursorRow struct {
	Source events.Source
	Next   int64
	Last   uint32 // fingerprint of the record before Next; 0: it is not known
}

// Fields implements wire.Message.
func (r *cursorRow) Fields(c *wire.Codec) {
	wire.Int(c, 1, "source", &r.Source)
	wire.Int(c, 2, "next", &r.Next)
	wire.Int(c, 3, "last", &r.Last)
}

// markerKey is the marker's place in the changelog; no store has a row there.
var markerKey = rows.Key{Table: rows.Metadata, A: 255}

func decodeMarker(b []byte) (*marker, error) {
	m := &marker{}
	if err := wire.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("decoding a checkpoint's marker: %w", err)
	}
	return m, nil
}

// chain adds an owner's takeover to the epochs and drops those that ended
// before the journal's start, and all but the last few: the newest alone is asked
// for (term), and each checkpoint carries them all.
func chain(epochs []epochRow, next epochRow, start int64) []epochRow {
	for len(epochs) > 0 && epochs[len(epochs)-1].Epoch >= next.Epoch {
		epochs = epochs[:len(epochs)-1]
	}
	epochs = append(epochs[:len(epochs):len(epochs)], next)
	return since(epochs[max(0, len(epochs)-loop.MostEpochs):], start)
}

// since are the epochs that did not end before an offset of the journal.
func since(epochs []epochRow, start int64) []epochRow {
	for len(epochs) > 1 && epochs[1].Offset <= start {
		epochs = epochs[1:]
	}
	return epochs
}

func published(epochs []epochRow) []runtime.Epoch {
	out := make([]runtime.Epoch, len(epochs))
	for i, e := range epochs {
		out[i] = runtime.Epoch{Epoch: e.Epoch, Offset: e.Offset}
	}
	return out
}
