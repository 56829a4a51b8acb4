package loop

import (
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// Rows of the partition have one form or are refused. An answer that is too large is
// read or not.
func FuzzRows(f *testing.F) {
	all := func() []wire.Message {
		return []wire.Message{&leaseRow{}, &replayRow{}, &unappliedRow{}, &PositionRow{}, &ledgerRow{}, &outboxRow{}}
	}
	f.Add([]byte{})
	f.Add(wire.Marshal(&outboxRow{Kind: 3, Key: "k", Headers: []headerRow{{"h", []byte("v")}}, Value: []byte("v")}))
	f.Add(wire.Marshal(&ledgerRow{Digest: 1, Old: []byte(`{"kind":"decided"}`), Time: 5, Answer: &answerRow{Result: "refused"}}))
	f.Add(wire.Marshal(&PositionRow{Next: 3, TopicID: []byte("t"), Older: []ReadRecord{{1, 0, 2}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		wiretest.OneForm(t, b, all)
		if small := refusedReply(b, "why"); small != nil && !json.Valid(small) {
			t.Errorf("%q is refused with %q", b, small)
		}
	})
}
