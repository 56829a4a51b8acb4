package loop

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// conclude derives everything that a record means besides the machine's rows:
// its effects, its answer, its ledger entry, and the partition's own state. It
// is the same for a record that was just decided and for one that is replayed.
// out is what the machine has made of the record, if it is one of the machine's. The
// effects are appended to outs, which is empty.
func (p *Processor) conclude(outs []*Outgoing, rec *events.Record, out *machine.Outcome) []*Outgoing {
	outs = p.outside.fromEffects(outs, out.Effects, rec)
	reply, answers := answer(rec, out)
	if answers {
		outs = p.addReply(outs, rec, reply)
	}
	if rec.ID != "" {
		p.ledger.remember(rec, reply, answers)
	}
	p.ledger.age(rec)
	p.ledger.forget(rec)
	p.ended.fold(out.Ended, rec.Time)
	for _, e := range rec.Events {
		p.fold(e, rec)
	}
	return outs
}

// answer is the reply to the client that asked for the decision.
func answer(rec *events.Record, out *machine.Outcome) (events.Reply, bool) {
	if rec.Input.Source != events.FromCommands {
		return events.Reply{}, false
	}
	if events.OfMachine(rec) {
		r := out.Answer
		r.Workflow = rec.Workflow
		return r, true
	}
	r := events.Reply{Kind: events.ReplyDecided, Workflow: rec.Workflow, Result: events.ResultDone}
	switch e := About(rec).(type) {
	case *events.InputForwarded:
		return r, false // the right partition answers
	case *events.InputRejected:
		r.Result, r.Refusal = events.ResultRefused, &events.Refusal{Code: rejectionCode(e.Reason), Message: e.Reason, Path: e.Path}
	case *events.CommandRefused:
		r.Result, r.Refusal = events.ResultRefused, &events.Refusal{Code: e.Code, Message: e.Message, Path: e.Path}
	case *events.WorkflowQuarantined:
		r.Result, r.Refusal = events.ResultRefused, &events.Refusal{Code: "quarantined", Message: "the command met a defect and is in the dlq: " + e.Reason}
	}
	return r, true
}

// addReply adds the effect of a reply, if somebody asked for it. A client that waits for
// the end alone does not get a decision that leads there.
func (p *Processor) addReply(outs []*Outgoing, rec *events.Record, r events.Reply) []*Outgoing {
	if rec.ReplyTo.Address == "" || rec.ReplyTo.End && r.Followed && r.Result == events.ResultDone {
		return outs
	}
	r.ID, r.Command = rec.ReplyTo.ID, rec.ReplyTo.Command
	return append(outs, &Outgoing{
		Kind: machine.ReplyEffect, Key: rec.ReplyTo.Address, Value: encodeReply(r),
		Decided: rec.Position, Number: uint64(len(outs)), kept: true,
	})
}

// fold changes the partition's own state by an event.
func (p *Processor) fold(e events.Event, rec *events.Record) {
	switch e := e.(type) {
	case *events.AuthorityAcquired, *events.AuthorityMarkedStale, *events.AuthorityReleased:
		old := leaseOf(p.tx)
		next := old.Apply(e, rec.Position.Epoch)
		p.tx.Put(leaseKey, &next)
	case *events.InputLost:
		if e.By.Who != "" { // before losses were accepted, nobody was held for one
			p.tx.Put(quarantineKey(e.Log), &quarantineRow{Reason: lossReason(e), Active: e.Log == events.FromInbox})
		}
	case *events.JournalLost:
		reason := journalLossReason(e)
		p.tx.Put(quarantineKey(events.FromEngine), &quarantineRow{Reason: reason})
		p.tx.Put(doubtKey, &doubtRow{Generation: p.inputs[events.FromCommands].Row.Generation, Below: e.Commands, Reason: reason})
	case *events.QuarantineEnded:
		p.tx.Delete(quarantineKey(e.Log))
	case *events.ReplayRequested:
		p.tx.Put(replayKey, &replayRow{Cursor: e.Cursor})
	case *events.DispatchesRemoved:
		p.ended.remove(e)
	case *events.DeliveryConfirmedLate:
		p.ended.confirmedLate(e)
	case *events.EffectFailed:
		p.tx.Delete(failedRow(e))
	case *events.WorkflowQuarantined:
		p.dropTimer(e)
	}
}

// dropTimer deletes the timer whose firing is dead-lettered. It is a row of its workflow,
// which may be older than the partition's keys, and deleting it again is harmless.
func (p *Processor) dropTimer(e *events.WorkflowQuarantined) {
	if k, err := rows.ParseKey(e.Timer); err == nil && len(e.Timer) > 0 {
		p.tx.Delete(k)
	}
}

func leaseOf(tx *rows.Tx) leaseRow {
	if row := rows.Get[leaseRow](tx, leaseKey); row != nil {
		return *row
	}
	return leaseRow{}
}
