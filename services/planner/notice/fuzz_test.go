package notice_test

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/wire"
)

// Whatever stands in the inbox of an entity: it is decided, or changes nothing.
func FuzzMessage(f *testing.F) {
	id := events.NoticesOf("w", events.RunID{Epoch: 1, Seq: 2})
	for _, n := range []events.Notice{{}, {Drain: 1, ID: "i", URL: "http://x", Body: []byte(`{}`)}, {Drains: 1, Confirmed: 1}, {Drain: 9, Body: []byte(`{"a":`)}} {
		f.Add([]byte(id), wire.Marshal(&n))
	}
	f.Add([]byte("notice:x"), []byte{})
	f.Fuzz(func(t *testing.T, to, body []byte) {
		if events.CheckReceiver(string(to)) != nil {
			return // the partition rejects it
		}
		w := newWorld(t, 1)
		m := &events.EntityMessage{From: "w", Decided: events.Position{Epoch: 1, Seq: 1}, Body: body}
		for range 2 {
			w.decide(machine.Input{Workflow: events.NoticePrefix + string(to), Source: events.FromInbox, Inbox: m})
			w.decide(machine.Input{Workflow: id, Source: events.FromInbox, Inbox: m})
		}
		w.fire()
		w.fold()
	})
}
