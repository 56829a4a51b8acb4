package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// recordMargin is how many bytes of a journal record are not of its events, at most.
const recordMargin = 2 << 10

// fitting decides again what fits no record: as the smallest piece there is, the
// rest of which is left in hand. A value that fits none fails its component, an outcome
// that does its attempt, and a command is refused (J4).
func (p *Planner) fitting(tx *rows.Tx, at events.Position, now int64, in machine.Input) *turn {
	room := max(in.Limit-recordMargin, in.Limit/2)
	piece := p.cfg.Budget
	piece.Bytes = 1
	for _, value := range []int{room, room / 8} {
		piece.Value = min(p.cfg.Budget.Value, value)
		t := p.decide(tx, at, now, in, piece, (*turn).take)
		if t.size() <= room {
			return t
		}
		tx.Reset()
	}
	over := tooLarge(fmt.Sprintf("what follows from it does not fit one journal record of %d bytes", in.Limit))
	return p.decide(tx, at, now, in, piece, func(t *turn, in machine.Input) { t.lesser(in, over) })
}

// size is about how many bytes the turn's events take in a record.
func (t *turn) size() int {
	n := len(t.in.ReplyTo.Address) + len(t.in.ReplyTo.ID) + len(t.in.Trace)
	return n + len(events.EncodeRecord(&events.Record{Workflow: t.id, Events: t.events}))
}

// lesser lets an input have what effect there is room for.
func (t *turn) lesser(in machine.Input, over *excess) {
	switch {
	case in.Command != nil:
		t.refuse(over.Code, over.Message)
	case in.Inbox != nil:
		t.ends.failOversize(in.Inbox, over)
	default:
		t.take(in)
	}
}

// failOversize fails an attempt because of its outcome, by its policy.
func (en *ends) failOversize(m events.InboxMessage, over *excess) {
	o, ok := m.(*events.TaskOutcome)
	if !ok {
		return
	}
	failed := *o
	failed.Outcome, failed.Result = events.OutcomeFailed, nil
	failed.Error = &events.TaskError{Type: over.typ, Message: over.Message, NonRetryable: true}
	en.outcome(&failed)
}
