package partition

import (
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// Rows of the partition, and the marker of a checkpoint, have one form or are
// refused. A published lease, and an answer that is too large, are read or not.
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
	f.Add([]byte(`{"authority":{"owner":"o","epoch":1,"leased_until":"2026-01-02T03:04:05Z"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		wiretest.OneForm(t, b, all)
		if l, err := publishedLease(b); err == nil && l.Held() != (l.LeasedUntil > 0) {
			t.Errorf("%q is the lease %+v", b, l)
		}
		if small := refusedReply(b, "why"); small != nil && !json.Valid(small) {
			t.Errorf("%q is refused with %q", b, small)
		}
	})
}
