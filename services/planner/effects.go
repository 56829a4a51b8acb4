package planner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// of says what follows from the events of a record outside of the state.
func (fx *effects) of(list []events.Event) []machine.Effect {
	all := fx.p.effects[:0]
	published, asks := false, false
	for _, e := range list {
		switch e := e.(type) {
		case *events.RunnableDispatched:
			if effect, ok := fx.taskOf(e.Runnable); ok {
				all = append(all, effect)
			}
		case *events.RunnableCancelled:
			if !e.Idle || e.Work {
				all = append(all, fx.cancelOf(e.Runnable)...)
			}
		case *events.RunnableTimedOut:
			all = append(all, fx.timedOut(e)...)
		case *events.RunnableReturned:
			all = append(all, fx.unwanted(e.Runnable, e.Attempt, e.Decided, nil)...)
		case *events.OutcomeArrived:
			all = append(all, fx.unwanted(e.Runnable, e.Attempt, e.Decided, nil)...)
			all, published = fx.publish(all, published)
		case *events.RunnableSkipped:
			all = append(all, fx.cancelOf(e.Runnable)...)
		case *events.AttemptAsked:
			all = fx.asked(all, e)
		case *events.AttemptDisowned:
			all = append(all, aboutAttempt(events.PoolWithdraw, e.Pool, e.Token))
		case *events.PermitAsked:
			asks = true
		case *events.PermitsReturned:
			all = fx.tellKeys(all, e)
		case *events.WorkflowDrained:
			all = fx.notices(all, e)
		case *events.WorkflowDeleting:
			all = fx.toldGone(fx.gone(all), e.Told)
		case *events.WorkflowDeleted:
			all = fx.toldGone(fx.gone(all), e.Told)
			all = fx.noticeGone(all, e)
			all = fx.stopGone(all, e)
		default:
			if changesStatus(e) {
				all, published = fx.publish(all, published)
			}
		}
	}
	if asks {
		all = fx.askKeys(all, list)
	}
	all = fx.withdrawals(all)
	fx.p.effects = fx.confirm(fx.told(all), list)
	return fx.p.effects
}

// publish adds the summary of the workflow, unless the record has it already.
func (fx *effects) publish(all []machine.Effect, published bool) ([]machine.Effect, bool) {
	if published || !fx.exists() {
		return all, published
	}
	return append(all, machine.Effect{Kind: machine.StatusEffect, Key: fx.id, Value: fx.view.encodedSummary()}), true
}

// gone takes the summary of a run away that is deleted, unless the record begins another.
func (fx *effects) gone(all []machine.Effect) []machine.Effect {
	if fx.exists() {
		return all
	}
	return append(all, machine.Effect{Kind: machine.StatusEffect, Key: fx.id})
}

// changesStatus reports whether the summary of a workflow is published anew: it is
// as of the whole record.
func changesStatus(e events.Event) bool {
	switch e := e.(type) {
	case *events.WorkflowStarted, *events.WorkflowIdle, *events.WorkflowFailed, *events.WorkflowRevived,
		*events.WorkflowPaused, *events.WorkflowResumed, *events.WorkflowStopping, *events.WorkflowStopped,
		*events.WorkflowCancelling, *events.WorkflowCancelled, *events.WorkflowCompleted, *events.WorkflowMigrated, *events.InputAccepted, *events.WorkflowRestored,
		*events.SignalReceived, *events.SignalTaken, *events.SignalExpired, *events.NoticeReported,
		*events.RunnableRetried, *events.RunnableSkipped:
		return true
	case *events.RunnableLost: // the summary counts what is uncertain
		return e.Action == events.ActionHold
	case *events.RunnableFailed:
		return e.Action == events.ActionHold
	case *events.RunnableTimedOut:
		return e.Action == events.ActionHold
	}
	return false
}

// told adds what tells those who waited for the workflow to drain.
func (fx *effects) told(all []machine.Effect) []machine.Effect {
	if fx.head == nil || len(fx.head.Told) == 0 || fx.head.Applied != fx.at {
		return all
	}
	body := fx.end(all)
	for _, w := range fx.head.Told {
		reply := events.Reply{ID: w.ID, Kind: events.ReplyDrained, Workflow: fx.id, Result: events.ResultDone, Body: body}
		all = append(all, machine.Effect{Kind: machine.ReplyEffect, Key: w.Address, Value: events.EncodeReply(&reply)})
	}
	return all
}

// toldGone adds what ends the wait for a workflow that was deleted: it will not
// drain, and a client that looked would not find it.
func (fx *effects) toldGone(all []machine.Effect, waited []events.ReplyTo) []machine.Effect {
	for _, w := range waited {
		reply := events.Reply{
			ID: w.ID, Kind: events.ReplyDrained, Workflow: fx.id, Result: events.ResultRefused,
			Refusal: &events.Refusal{Code: "not_found", Message: fmt.Sprintf("the workflow %q was deleted before it came to rest", fx.id)},
		}
		all = append(all, machine.Effect{Kind: machine.ReplyEffect, Key: w.Address, Value: events.EncodeReply(&reply)})
	}
	return all
}

// end is the body of a drained reply: the results and the summary, which is
// among the record's effects when the record changed it.
func (fx *effects) end(effects []machine.Effect) []byte {
	var summary []byte
	if i := slices.IndexFunc(effects, func(e machine.Effect) bool { return e.Kind == machine.StatusEffect }); i >= 0 {
		summary = effects[i].Value
	} else {
		summary = fx.view.encodedSummary()
	}
	b := append(make([]byte, 0, len(summary)+256), `{"results":{`...)
	for i, o := range fx.graph().Outputs { // sorted by name
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(events.AppendText(b, o.Name), ':'), fx.outputs.result(o)...)
	}
	b = append(append(b, `},"workflow":`...), summary...)
	return append(b, '}')
}

// Watched implements machine.Machine.
func (p *Planner) Watched(string) machine.Watched { return &runnable{} }

// Task implements machine.Machine.
func (p *Planner) Task(tx *rows.Tx, workflow string, a *machine.Attempt, id events.RunnableID) (machine.Effect, bool) {
	t := p.begin(tx, a.Decided, a.Since, workflow)
	r := t.runs.get(id)
	if t.head == nil || t.head.Status.winding() || r == nil || r.Status != runActive || r.Pool != "" || r.Decided != a.Decided {
		return machine.Effect{}, false // a pool has it, or its end, or even that of its run, is on its way to the journal
	}
	return t.effects.task(id, r, a.Since), true
}

func (fx *effects) taskOf(id events.RunnableID) (machine.Effect, bool) {
	r := fx.runs.get(id)
	if r == nil || r.Status != runActive || r.External || r.Decided != fx.at {
		return machine.Effect{}, false
	}
	return fx.task(id, r, fx.now), true
}

func (fx *effects) task(id events.RunnableID, r *runnable, dispatched int64) machine.Effect {
	c := fx.component(r.Component)
	input, err := fx.contexts.shape(c, id, r, dispatched)
	if err != nil {
		panic(fmt.Sprintf("shaping %s again: %v", id, err))
	}
	pol := r.policy()
	other := r.other(pol)
	fx.p.task = events.Task{
		Token:          fx.token(id, r.Attempt, r.Decided),
		Task:           cmp.Or(other.Task, c.Task),
		Component:      c.Name,
		Attempt:        r.Attempt,
		Input:          input,
		Context:        fx.contexts.attempt(c, r),
		IdempotencyKey: fx.keyOfCalls(id, r),
		TraceParent:    events.AttemptTrace(fx.setup().Trace, fx.id, fx.head.Run, id, r.Attempt),
		Heartbeat:      r.Heartbeat,
		Timeout:        pol.Timeout.Milliseconds(),
		Laid:           c.Params != nil && r.For != events.ForProbe,
		Announce:       r.limit().Start != 0 || r.silence(pol) > 0,
		Silence:        r.silence(pol).Milliseconds(),
		Work:           fx.workOf(id, r),
	}
	if other.Task != "" {
		fx.p.task.Heartbeat = nil // which the component's own task has sent
	}
	if r.Pool != "" {
		return fx.offer(id, r, pol)
	}
	return machine.Effect{
		Kind: machine.TaskEffect, Key: fx.id, Queue: r.Queue, Runnable: id, Spread: r.spread(id),
		Early: pol.Mode == policy.Async, Value: wire.Marshal(&fx.p.task),
	}
}

// spread is where the task goes among the partitions of its queue, counted from
// the workflow's home (E2): attempts that are open together are spread, so that
// all workers run a fan-out; steps one after the other stay together, so that
// the tasks of many workflows share batches.
func (r *runnable) spread(id events.RunnableID) uint64 {
	if r.Beside {
		return uint64(id)
	}
	return 0
}

func (w *workflow) token(id events.RunnableID, attempt uint32, decided events.Position) []byte {
	return w.p.sealer.Seal(events.Token{Workflow: w.id, Run: w.head.Run, Runnable: id, Attempt: attempt, Decided: decided})
}

// cancelOf tells workers that an attempt is not wanted any more, nor the one of which nobody knows what became. An attempt that
// was not open, or whose task was never published, has nobody to tell; those of
// a run that the same record deletes are told by stopGone.
func (fx *effects) cancelOf(id events.RunnableID) []machine.Effect {
	r := fx.runs.get(id)
	if fx.head == nil || r == nil {
		return nil
	}
	var all []machine.Effect
	if !r.External && r.Pool == "" && r.Attempt != 0 && r.Decided != fx.at && !r.probed() {
		all = append(all, fx.cancelling(id, events.TaskCancel{Token: fx.token(id, r.Attempt, r.Decided), Work: fx.workOf(id, r)}))
	}
	if d := r.Doubt; d != nil && d.Attempt != r.Attempt {
		all = append(all, fx.cancelling(id, events.TaskCancel{Token: fx.token(id, d.Attempt, d.Decided), Work: fx.begunBy(id, d.Work)}))
	}
	return all
}

// timedOut tells the worker of an attempt whose time was over, also where the record goes on with the next one
// or ends the runnable: an attempt that nobody has begun would else be run all the same, later.
func (fx *effects) timedOut(e *events.RunnableTimedOut) []machine.Effect {
	switch {
	case e.Idle:
		return nil
	case e.Attempt == 0: // older records do not say which one it was
		return fx.cancelOf(e.Runnable)
	}
	return fx.unwanted(e.Runnable, e.Attempt, e.Decided, e.Work)
}

// unwanted tells the worker of an attempt that an event names, if it names one, that it is not wanted any more: so of a
// probe whose question is answered. Whoever has the work that the attempt goes on with hears of it, too.
func (fx *effects) unwanted(id events.RunnableID, attempt uint32, decided events.Position, work *events.Began) []machine.Effect {
	if fx.head == nil || attempt == 0 {
		return nil
	}
	return []machine.Effect{fx.cancelling(id, events.TaskCancel{Token: fx.token(id, attempt, decided), Work: fx.begunBy(id, work)})}
}

// stopGone tells the workers of a run that was deleted while it was open.
func (fx *effects) stopGone(all []machine.Effect, e *events.WorkflowDeleted) []machine.Effect {
	for _, o := range e.Open {
		token := events.Token{Workflow: fx.id, Run: e.Run, Runnable: o.Runnable, Attempt: o.Attempt, Decided: o.Decided}
		if o.Pool != "" {
			continue // withdrawals tell it
		}
		cancel := events.TaskCancel{Token: fx.p.sealer.Seal(token)}
		if o.Work != nil {
			token.Attempt, token.Decided = o.Work.Attempt, o.Work.Decided
			cancel.Work = fx.p.sealer.Seal(token)
		}
		all = append(all, fx.cancelling(o.Runnable, cancel))
	}
	return all
}

func (fx *effects) cancelling(id events.RunnableID, cancel events.TaskCancel) machine.Effect {
	cancel.Reason = "the attempt was closed"
	return machine.Effect{Kind: machine.CancelEffect, Key: fx.id, Runnable: id, Value: wire.Marshal(&cancel)}
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
