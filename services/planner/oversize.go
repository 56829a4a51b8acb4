package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// Oversize implements machine.Machine (J4).
func (p *Planner) Oversize(tx *rows.Tx, at events.Position, now int64, in machine.Input, limit int) []events.Event {
	t := p.begin(tx, at, now, in.Workflow)
	t.in = in
	t.misfit = fmt.Sprintf("what follows from it does not fit one journal record of %d bytes", limit)
	switch {
	case in.Command != nil:
		t.refuse("too_large", t.misfit)
		t.finish()
		return t.events
	case in.Inbox != nil:
		t.failOversize(in.Inbox)
	case in.Timer != nil:
		t.timer(*in.Timer)
	case in.Lost != nil:
		t.lost(in.Lost)
	}
	return t.decided()
}

// failOversize fails an attempt because of its outcome, by its policy.
func (t *turn) failOversize(m events.InboxMessage) {
	o, ok := m.(*events.TaskOutcome)
	if !ok {
		return
	}
	failed := *o
	failed.Outcome, failed.Result = events.OutcomeFailed, nil
	failed.Error = &events.TaskError{Type: events.ErrorResultTooLarge, Message: t.misfit, NonRetryable: true}
	t.misfit = ""
	t.outcome(&failed)
}

// halting is what a runnable's end comes to whose consequences fit no record:
// it halts, whatever its policy, since nothing follows from that.
func (t *turn) halting(err events.TaskError, action events.Action) (events.TaskError, events.Action) {
	if t.misfit == "" {
		return err, action
	}
	err.Message += "; " + t.misfit
	return err, events.ActionHalt
}
