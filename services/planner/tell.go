package planner

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// subject is what an event tells of.
type subject struct {
	run      bool              // the run
	runnable events.RunnableID // an attempt of it; 0: none
	begun    bool              // which begins with the record: the state before does not have it
	ends     bool              // which ends with it, if it was open
}

// subjectOf says what an event tells of: one line per event that telemetry knows.
func subjectOf(e events.Event) (s subject, told bool) {
	switch e := e.(type) {
	case *events.WorkflowStarted, *events.WorkflowIdle, *events.WorkflowStopped, *events.WorkflowFailed, *events.WorkflowCompleted,
		*events.WorkflowCancelled, *events.WorkflowDeleted:
		return subject{run: true}, true
	case *events.RunnableDispatched:
		return subject{runnable: e.Runnable, begun: true}, true
	case *events.AttemptDenied: // it never was open
		return subject{runnable: e.Runnable, begun: true}, true
	case *events.RunnableCompleted:
		return subject{runnable: e.Runnable, ends: true}, true
	case *events.RunnableFailed:
		return subject{runnable: e.Runnable, ends: true}, true
	case *events.RunnableTimedOut:
		return subject{runnable: e.Runnable, ends: true}, true
	case *events.RunnableLost:
		return subject{runnable: e.Runnable, ends: true}, true
	case *events.RunnableParked:
		return subject{runnable: e.Runnable, ends: true}, true
	case *events.RunnableReturned:
		return subject{runnable: e.Runnable, ends: true}, true
	case *events.ProbeAnswered:
		return subject{runnable: e.Runnable, ends: true}, true
	case *events.OutcomeArrived:
		return subject{runnable: e.Runnable}, true
	case *events.FallbackApplied:
		return subject{runnable: e.Runnable}, true
	case *events.RetryScheduled:
		return subject{runnable: e.Runnable}, true
	case *events.RunnableCancelled:
		return subject{runnable: e.Runnable, ends: true}, true
	case *events.RunnableSkipped:
		return subject{runnable: e.Runnable, ends: true}, true
	}
	return subject{}, false
}

// Tells reports whether telemetry is told of events of e's type.
func Tells(e events.Event) bool {
	_, told := subjectOf(e)
	return told
}

// Tell implements machine.Teller.
func (p *Planner) Tell(before, after *rows.Tx, rec *events.Record, detail bool, told []machine.Told) []machine.Told {
	for i, e := range rec.Events {
		s, known := subjectOf(e)
		if !known {
			continue
		}
		var r *runnable
		late := false
		if s.runnable != 0 {
			late = s.ends && i > 0 && settles(rec.Events[:i], s.runnable)
			if r = attemptOf(s, before, after, rec.Workflow, late); r == nil {
				continue
			}
		}
		told = append(told, machine.Told{Event: e})
		t := &told[len(told)-1]
		if r != nil {
			t.Runnable, t.Queue, t.Attempt, t.Decided, t.Since = s.runnable, r.Queue, r.Attempt, r.Decided, r.Since
			if denied, is := e.(*events.AttemptDenied); is {
				t.Queue, t.Decided, t.Since = denied.Queue, events.Position{}, 0
			}
			if late = late || r.Status == runUncertain && s.ends; late {
				t.Late, t.Since = true, 0
				if r.Doubt != nil {
					t.Attempt, t.Decided = r.Doubt.Attempt, r.Doubt.Decided
				}
			}
			t.Uncertain = doubts(e, r) && uncertain(after, rec.Workflow, s.runnable)
		}
		if s.run || detail {
			tellRun(t, before, after, rec.Workflow)
		}
		if r != nil && detail {
			p.tellComponent(t, after, rec.Workflow, r)
		}
	}
	return told
}

// settles reports whether one of a record's events has said what became of an attempt that was lost: its end
// follows, and has no time of its own.
func settles(list []events.Event, id events.RunnableID) bool {
	for _, e := range list {
		switch e := e.(type) {
		case *events.ProbeAnswered:
			if e.Runnable == id {
				return true
			}
		case *events.OutcomeArrived:
			if e.Runnable == id {
				return true
			}
		}
	}
	return false
}

// doubts reports whether an end of an attempt may leave its runnable uncertain: few do, so that the others cost
// no look at the state behind them.
func doubts(e events.Event, r *runnable) bool {
	switch e.(type) {
	case *events.RunnableLost, *events.ProbeAnswered:
		return true
	case *events.RunnableFailed, *events.RunnableTimedOut:
		return r.For == events.ForProbe
	}
	return false
}

// uncertain reports whether a runnable is uncertain behind the record.
func uncertain(after *rows.Tx, workflow string, id events.RunnableID) bool {
	r := rows.Get[runnable](after, runnableKey(workflow, id))
	return r != nil && r.Status == runUncertain
}

// attemptOf is the runnable of an attempt; nil if it has none, as what the planner evaluates
// itself, or none that ends. One that was lost may end late.
func attemptOf(s subject, before, after *rows.Tx, workflow string, late bool) *runnable {
	tx := before
	if s.begun {
		tx = after
	}
	r := rows.Get[runnable](tx, runnableKey(workflow, s.runnable))
	if r == nil || r.Attempt == 0 || s.ends && r.Status != runActive && r.Status != runUncertain && !late {
		return nil
	}
	return r
}

// tellRun tells of the run: as the record leaves it, or as it was if the record deletes it.
func tellRun(t *machine.Told, before, after *rows.Tx, workflow string) {
	tx := after
	set := rows.Get[setup](tx, setupKey(workflow))
	if _, gone := t.Event.(*events.WorkflowDeleted); gone || set == nil {
		tx = before
		set = rows.Get[setup](tx, setupKey(workflow))
	}
	if head := rows.Get[header](tx, headerKey(workflow)); head != nil && set != nil {
		t.Definition, t.Created, t.Trace, t.Run = set.Name, set.Created, set.Trace, head.Run
	}
}

// tellComponent names what is attempted, if its definition is at hand: it was, when the
// record was decided.
func (p *Planner) tellComponent(t *machine.Told, after *rows.Tx, workflow string, r *runnable) {
	set := rows.Get[setup](after, setupKey(workflow))
	if set == nil {
		return
	}
	if g := p.graphs[set.graphKey()]; g != nil {
		c := g.Components[r.Component]
		t.Component, t.Task = c.Name, c.Task
	}
}
