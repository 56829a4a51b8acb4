package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// Oversize implements machine.Machine (J4).
func (p *Planner) Oversize(tx *rows.Tx, at events.Position, now int64, in machine.Input, limit int) []events.Event {
	return p.insteadOf(tx, at, now, in, tooLarge(fmt.Sprintf("does not fit one journal record of %d bytes", limit)))
}

// insteadOf decides what is less than what an input would come to: a refusal, a
// failure, and where what follows from that exceeds the budget as well, a halt.
func (p *Planner) insteadOf(tx *rows.Tx, at events.Position, now int64, in machine.Input, over *excess) []events.Event {
	evs, again := p.within(tx, at, now, in, over)
	if again == nil {
		return evs
	}
	over.halts = true
	if evs, again = p.within(tx, at, now, in, over); again != nil {
		panic("a halt exceeds the budget: " + again.Message)
	}
	return evs
}

// lesser lets an input have what effect there is room for.
func (t *turn) lesser(in machine.Input) {
	switch {
	case in.Command != nil:
		t.refuse(t.misfit.Code, t.misfit.Message)
	case in.Inbox != nil:
		t.failOversize(in.Inbox)
	default:
		t.take(in)
	}
}

// failOversize fails an attempt because of its outcome, by its policy, unless
// that comes to too much too.
func (t *turn) failOversize(m events.InboxMessage) {
	o, ok := m.(*events.TaskOutcome)
	if !ok {
		return
	}
	failed := *o
	failed.Outcome, failed.Result = events.OutcomeFailed, nil
	failed.Error = &events.TaskError{Type: t.misfit.typ, Message: t.misfit.Message, NonRetryable: true}
	if !t.misfit.halts {
		t.misfit = nil
	}
	t.outcome(&failed)
}

// halting is what a runnable's end comes to whose consequences fit no record:
// it halts, whatever its policy, since nothing follows from that.
func (t *turn) halting(err events.TaskError, action events.Action) (events.TaskError, events.Action) {
	if t.misfit == nil {
		return err, action
	}
	if err.Message != t.misfit.Message {
		err.Message += "; " + t.misfit.Message
	}
	return err, events.ActionHalt
}
