package notice

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// Tell implements machine.Teller: of what each call comes to.
func (m *Machine) Tell(before, _ *rows.Tx, rec *events.Record, _ bool, told []machine.Told) []machine.Told {
	for _, e := range rec.Events {
		if drain, what := ended(e); what != "" {
			told = append(told, m.tell(before, rec, e, drain, what))
		}
	}
	return told
}

func (m *Machine) tell(before *rows.Tx, rec *events.Record, e events.Event, drain events.RunnableID, what string) machine.Told {
	t := m.begin(before, rec.Position, rec.Time, rec.Workflow)
	told := machine.Told{Event: e, Notice: what, Run: t.run, Runnable: drain, Queue: Queue}
	if a := t.open(drain); a != nil {
		told.Attempt, told.Decided = a.Attempt, a.Decided
	}
	if n := t.notice(uint64(drain)); n != nil {
		told.Since = n.Accepted
	}
	return told
}

// ended says what a call comes to by an event; empty: nothing yet.
func ended(e events.Event) (drain events.RunnableID, what string) {
	failed := func(drain events.RunnableID, action events.Action) (events.RunnableID, string) {
		if action == events.ActionRetry {
			return drain, machine.NoticeRetried
		}
		return drain, machine.NoticeGivenUp
	}
	switch e := e.(type) {
	case *events.RunnableCompleted:
		return e.Runnable, machine.NoticeDelivered
	case *events.RunnableFailed:
		return failed(e.Runnable, e.Action)
	case *events.RunnableTimedOut:
		return failed(e.Runnable, e.Action)
	case *events.RunnableLost:
		return failed(e.Runnable, e.Action)
	}
	return 0, ""
}
