package planner

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// falling is what a runnable with no attempt left falls back to; the form 0: to nothing.
type falling struct {
	form  policy.Form
	value json.RawMessage // of a form that takes no attempt
}

// fallbackOf is the one that was recorded with a policy.
func fallbackOf(pol policy.Policy) policy.Fallback {
	fb, err := policy.ParseFallback(pol.Fallback)
	if err != nil {
		panic("recorded policy: " + err.Error())
	}
	return fb
}

// falls finds what a runnable falls back to that has failed for good. One that has fallen back, or is not
// whole any more, does not; neither does one whose expression cannot be evaluated, and the failure says so.
func (en *ends) falls(id events.RunnableID, r *runnable, pol policy.Policy, err *events.TaskError) falling {
	if pol.Fallback == "" || r.Fell != 0 || !en.states.hasTurn(id, r) || en.component(r.Component).Each != nil && r.Fanned != nil {
		return falling{}
	}
	fb := fallbackOf(pol)
	f := falling{form: fb.Form, value: fb.Value}
	if fb.Form.Attempts() && r.limit().over(en.now) {
		return falling{} // there is no time for it
	}
	if fb.Form != policy.FallbackExpr {
		return f
	}
	var wrong error
	i := en.invoked(id)
	over := en.spend.evaluate(i.size(), func() {
		env := i.env()
		env.Error, env.Attempt = mustJSON(asShown(*err)), int(r.Attempt)
		f.value, wrong = en.p.program(policy.SeesBoth, fb.Expr).Eval(env)
		if en.spend.spent() {
			en.spend.exceeds()
		}
		en.spend.holds(len(f.value))
	})
	why := ""
	switch {
	case over != nil:
		why = over.Message
	case wrong != nil:
		why = wrong.Error()
	default:
		return f
	}
	err.Message = events.Cut(fmt.Sprintf("%s (its fallback failed: %s)", err.Message, why), events.MaxErrorMessage)
	return falling{}
}

// fallBack lets a runnable fall back.
func (en *ends) fallBack(id events.RunnableID, f falling, err events.TaskError) {
	en.emit(&events.FallbackApplied{Runnable: id, Form: uint8(f.form), Error: err})
	if f.form.Attempts() {
		en.queue.fresh = append(en.queue.fresh, en.runs.get(id).place(id))
		return
	}
	en.invoked(id).do(func(i invocation) { i.substitute(f.value) })
}

// substitute takes a value in the place of what the component would have made: what a task would have
// given, or an expression; of a map, the list that it is to go through.
func (i invocation) substitute(value json.RawMessage) {
	r := i.t.runs.get(i.id)
	switch {
	case i.c.Fold != nil && r.Fanned == nil && (i.c.Fold.Over >= 0 || i.foldsOne()):
		stop, err := i.stops(value)
		if err != nil {
			i.fail(err)
			return
		}
		i.t.spend.holds(len(value))
		i.t.ends.foldedOne(i, value, stop, &events.TaskOutcome{Started: i.t.now, Finished: i.t.now})
	case (i.c.Each != nil || i.c.Fold != nil) && r.Fanned == nil:
		list, err := i.t.account().Decode(value)
		if err != nil {
			i.fail(err)
			return
		}
		i.take(list)
	case i.c.Accumulate != nil:
		i.initial()
		i.becomes(value)
	default:
		i.produce(value)
	}
}

// fellBack notes that a runnable has fallen back: its next attempt is for that, if it takes one.
func (rs *runnables) fellBack(e *events.FallbackApplied) {
	r := rs.change(e.Runnable)
	err := e.Error
	r.Fell, r.Error, r.Doubt = policy.Form(e.Form), &err, nil
	if r.Fell.Attempts() {
		r.For = events.ForFallback
		rs.enqueue(e.Runnable, r)
	}
}

// other is the task of the open attempt, or of the next one, if that is not the component's own.
func (r *runnable) other(pol policy.Policy) policy.Other {
	switch r.For {
	case events.ForProbe:
		return pol.Probe
	case events.ForFallback:
		return fallbackOf(pol).Other
	default:
		return policy.Other{}
	}
}

// work is the task and the queue of the open attempt, or of the next one.
func (r *runnable) work(c *definition.Component) (task, queue string) {
	pol := r.policy()
	task, queue = c.Task, queueOf(c, pol)
	other := r.other(pol)
	if other.Task != "" {
		task = other.Task
	}
	if other.Queue != "" {
		queue = other.Queue
	}
	return task, queue
}

// attempt is the context of a runnable's open attempt.
func (cs *contexts) attempt(c *definition.Component, r *runnable) json.RawMessage {
	return cs.fallen(r, cs.of(c, r.Scope, cs.given(r)))
}

// fallen lays what a fallback changes over the context of an attempt that is for it.
func (cs *contexts) fallen(r *runnable, context json.RawMessage) json.RawMessage {
	if r.For != events.ForFallback {
		return context
	}
	over := fallbackOf(r.policy()).Context
	if len(over) == 0 {
		return context
	}
	cs.spend.reads(len(context) + len(over))
	return mergeObjects(context, over)
}
