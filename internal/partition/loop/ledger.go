package loop

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

func ledgerKey(workflow, id string) rows.Key {
	return rows.Key{Table: rows.Ledger, Workflow: workflow, Sub: id}
}

func receivedKey(entity, id string) rows.Key {
	return rows.Key{Table: rows.Received, Workflow: entity, Sub: id}
}

// ledger knows which inputs were decided, and what they were answered.
type ledger struct{ *Processor }

// remember writes the ledger entry of a record's input. It ages by its stamp, as
// the command does that is read again, or by its record, whichever is later. Messages
// have entries of their own: they age by the time of records alone.
func (lg *ledger) remember(rec *events.Record, r events.Reply, answers bool) {
	entry := &ledgerRow{Digest: rec.Digest, Time: max(rec.Time, rec.Input.Stamp)}
	if answers {
		entry.Answer = answerOf(r)
	}
	key, ages := ledgerKey(rec.Workflow, rec.ID), rows.Expiry
	if rec.Input.Source == events.FromInbox {
		key, ages = receivedKey(rec.Workflow, rec.ID), rows.ReceivedAge
	}
	lg.tx.Put(key, entry)
	rows.Change[expiryPage](lg.tx, expiryKey(ages, entry.Time, rec.Position)).add(rec.Workflow, rec.ID)
}

// horizon is the stamp (Unix ms) before which commands are too old to be decided.
func (lg *ledger) horizon() int64 {
	return lg.inputs[events.FromCommands].stamp - lg.Settings.Window.Milliseconds()
}

// forgotten reports whether a command of this stamp is too old to be decided: the
// ledger may have forgotten it.
func (lg *ledger) forgotten(stamp int64) bool { return stamp < lg.horizon() && !lg.Flaws.NoWindow.On() }

// age takes the stamp of the command that a record is about. Those of commands
// that leave no record do not count: a replay does not know them.
func (lg *ledger) age(rec *events.Record) {
	l := &lg.inputs[events.FromCommands]
	l.stamp = max(l.stamp, rec.Input.Stamp) // 0 for everything else
}

// verdict is what the ledger says about a command.
type verdict int

const (
	unseen   verdict = iota
	repeated         // the same content: the first answer again
	conflict         // other content under a used id
	tooOld           // behind the horizon, where entries may be missing
)

// lookUp is what the ledger says about a command with a stamp: what it said when
// the command was read first. So an entry counts for a window behind it, however
// long it is kept.
func (lg *ledger) lookUp(cmd *events.Command, stamp int64) (verdict, *ledgerRow) {
	entry := rows.Get[ledgerRow](lg.tx, ledgerKey(cmd.Workflow, cmd.DedupeID()))
	if entry != nil && entry.Time < stamp-lg.Settings.Window.Milliseconds() {
		entry = nil
	}
	switch {
	case entry == nil && lg.forgotten(stamp):
		return tooOld, nil
	case entry == nil:
		return unseen, nil
	case entry.Digest != cmd.Digest:
		return conflict, entry
	}
	return repeated, entry
}

// repeat answers a repeated command with the first answer. It needs no record;
// the answer leaves after everything that was appended before it.
func (lg *ledger) repeat(cmd *events.Command, entry *ledgerRow) {
	lg.Stats.Duplicates.Add(1)
	if cmd.ReplyTo.Address == "" {
		return
	}
	r, err := entry.reply(cmd.Workflow)
	if err != nil {
		lg.Fail(rows.Fault{Err: err})
		return
	}
	r.ID, r.Command = cmd.ReplyTo.ID, cmd.Name
	lg.afterNewest(&Outgoing{Kind: machine.ReplyEffect, Key: cmd.ReplyTo.Address, Value: encodeReply(r)})
}

// answerOf is the form of an answer that the ledger keeps.
func answerOf(r events.Reply) *answerRow {
	a := &answerRow{Result: r.Result, Refusal: r.Refusal, Summary: r.Summary}
	if a.Result == events.ResultDone {
		a.Result = ""
	}
	if a.Summary == nil {
		a.Body = r.Body
	}
	return a
}

// reply is the first answer again, to a command of this workflow. An entry
// without one is an operator's release that a claimant obeyed.
func (l *ledgerRow) reply(workflow string) (events.Reply, error) {
	r := events.Reply{Kind: events.ReplyDecided, Workflow: workflow, Result: events.ResultDone}
	if len(l.Old) > 0 {
		err := json.Unmarshal(l.Old, &r)
		return r, err
	}
	if a := l.Answer; a != nil {
		r.Refusal, r.Summary, r.Body = a.Refusal, a.Summary, a.Body
		if a.Result != "" {
			r.Result = a.Result
		}
	}
	return r, nil
}

// afterNewest releases what has no record of its own behind the newest one.
func (lg *ledger) afterNewest(o *Outgoing) {
	if f := lg.inflight.newest(); f != nil {
		lg.outside.with(o)
		f.outs = append(f.outs, o)
		return
	}
	lg.outside.release(o)
}
