package loop

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// message is what a message to another entity is in that one's inbox. Made again of
// the same record it is the same, bytes and all.
func (in *intake) message(o *Outgoing, rec *events.Record) []byte {
	return events.EncodeInbox(&events.EntityMessage{
		From: rec.Workflow, Partition: in.Partition, Decided: rec.Position, Number: o.Number, Written: rec.Time, Body: o.Value,
	})
}

// emission is what an event for other systems says of itself, the same whenever it is
// made of the record.
func (in *intake) emission(o *Outgoing, rec *events.Record, typ string) *events.Emission {
	return &events.Emission{
		Workflow: rec.Workflow, Type: typ, Partition: in.Partition, Decided: rec.Position, Number: o.Number, Written: rec.Time,
	}
}

// takeMessage decides a message of another entity, unless it was decided before (E4).
func (in *intake) takeMessage(r *kgo.Record, ref events.InputRef, m *events.EntityMessage) {
	in.takeOnce(r, ref, m.DedupeID(), m, in.comesLate(m))
}

// takeOnce decides a message of the inbox under an id, unless it was decided before.
func (in *intake) takeOnce(r *kgo.Record, ref events.InputRef, id string, m events.InboxMessage, late bool) {
	to := string(r.Key)
	var had *ledgerRow
	defect := in.contained(func() { had = rows.Get[ledgerRow](in.tx, receivedKey(to, id)) })
	if defect != "" {
		in.Fail(fmt.Errorf("looking up a message: %s", defect))
	}
	switch {
	case in.fault != nil:
		return
	case had == nil, in.Flaws.NoLedger.On():
	case had.Digest != uint64(ref.Digest):
		in.reject(r, ref, &events.CommandError{Code: "conflict", Message: "another message came under the id of this one, " + id})
		return
	default:
		in.Stats.Duplicates.Add(1)
		return
	}
	in.decide(&decision{ref: ref, raw: r, id: id, digest: uint64(ref.Digest), in: machine.Input{
		Workflow: to, Source: events.FromInbox, Inbox: m, Late: late,
	}})
}

// comesLate reports whether a message is so old that one like it may have been decided, and
// forgotten: its sender was away for longer than the window, before it could send it, or
// before it could note that it had. What that means its receiver knows.
func (in *intake) comesLate(m *events.EntityMessage) bool {
	return m.Written < in.RecordTime()-in.Settings.Window.Milliseconds()
}
