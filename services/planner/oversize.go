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
		t.ends.failOversize(in.Inbox)
	default:
		t.take(in)
	}
}

// failOversize fails an attempt because of its outcome, by its policy, unless
// that comes to too much too.
func (en *ends) failOversize(m events.InboxMessage) {
	o, ok := m.(*events.TaskOutcome)
	if !ok {
		return
	}
	failed := *o
	failed.Outcome, failed.Result = events.OutcomeFailed, nil
	failed.Error = &events.TaskError{Type: en.misfit.typ, Message: en.misfit.Message, NonRetryable: true}
	if !en.misfit.halts {
		en.misfit = nil
	}
	en.outcome(&failed)
}

// halting is what a runnable's end comes to whose consequences fit no record:
// it halts, whatever its policy, since nothing follows from that.
func (en *ends) halting(err events.TaskError, action events.Action) (events.TaskError, events.Action) {
	if en.misfit == nil {
		return err, action
	}
	if err.Message != en.misfit.Message {
		err.Message += "; " + en.misfit.Message
	}
	return err, events.ActionHalt
}
