package partition

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/internal/replay"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// Rows of the partition, and the marker of a checkpoint, have one form or are
// refused. A published lease, a request for a replay and an answer that is too
// large are read or not.
func FuzzRows(f *testing.F) {
	all := func() []wire.Message {
		return []wire.Message{
			&marker{}, &leaseRow{}, &replayRow{}, &unappliedRow{}, &positionRow{}, &ledgerRow{}, &outboxRow{},
		}
	}
	f.Add([]byte{})
	f.Add(wire.Marshal(&marker{Topic: []byte("t"), Epochs: []epochRow{{1, 2, 3}}, Cursors: []cursorRow{{1, 7, 7}}}))
	f.Add(wire.Marshal(&outboxRow{Kind: 3, Key: "k", Headers: []headerRow{{"h", []byte("v")}}, Value: []byte("v")}))
	f.Add(wire.Marshal(&ledgerRow{Digest: 1, Old: []byte(`{"kind":"decided"}`), Time: 5, Answer: &answerRow{Result: "refused"}}))
	f.Add(wire.Marshal(&positionRow{Next: 3, TopicID: []byte("t"), Older: []mark{{1, 0, 2}}}))
	f.Add([]byte(`{"authority":{"owner":"o","epoch":1,"leased_until":"2026-01-02T03:04:05Z"}}`))
	for _, s := range []string{"commands@0", "inbox@9223372036854775807", "inbox@-1", "commands@+1", "@", "journal@1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		wiretest.OneForm(t, b, all)
		if l, err := publishedLease(b); err == nil && l.Held() != (l.LeasedUntil > 0) {
			t.Errorf("%q is the lease %+v", b, l)
		}
		if r, err := replay.ParseRequest(string(b), "commands", "inbox"); err == nil {
			checkRequest(t, r)
		}
		if small := refusedReply(b, "why"); small != nil && !json.Valid(small) {
			t.Errorf("%q is refused with %q", b, small)
		}
	})
}

// checkRequest holds that a request for a replay is read from its printed form.
func checkRequest(t *testing.T, r replay.Request) {
	t.Helper()
	again, err := replay.ParseRequest(fmt.Sprintf("%s@%d", r.Log, r.Offset), "commands", "inbox")
	if err != nil || again != r || r.Offset < 0 {
		t.Errorf("%+v is read as %+v, %v", r, again, err)
	}
}
