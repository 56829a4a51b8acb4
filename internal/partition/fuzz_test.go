package partition

import (
	"testing"

	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// Rows of the partition, and the marker of a checkpoint, have one form or are
// refused.
func FuzzRows(f *testing.F) {
	all := func() []wire.Message {
		return []wire.Message{
			&marker{}, &leaseRow{}, &replayRow{}, &unappliedRow{}, &positionRow{}, &ledgerRow{}, &outboxRow{},
		}
	}
	f.Add([]byte{})
	f.Add(wire.Marshal(&marker{Topic: []byte("t"), Epochs: []epochRow{{1, 2}}, Cursors: []cursorRow{{1, 7}}}))
	f.Add(wire.Marshal(&outboxRow{Kind: 3, Key: "k", Headers: []headerRow{{"h", []byte("v")}}, Value: []byte("v")}))
	f.Add(wire.Marshal(&ledgerRow{Digest: 1, Old: []byte(`{"kind":"decided"}`), Time: 5, Answer: &answerRow{Result: "refused"}}))
	f.Add(wire.Marshal(&positionRow{Next: 3, TopicID: []byte("t"), Older: []mark{{1, 0, 2}}}))
	f.Fuzz(func(t *testing.T, b []byte) { wiretest.OneForm(t, b, all) })
}
