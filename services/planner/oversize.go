package planner

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

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
