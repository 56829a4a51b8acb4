package notice

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/wire"
)

const (
	// Queue is where the calls wait for an executor.
	Queue = events.DefaultQueue

	task      = "http.request"
	component = "on_complete" // as an executor shows it
)

// effects says what follows from the events of a record outside of the state.
func (t *turn) effects(list []events.Event) []machine.Effect {
	var all []machine.Effect
	for _, e := range list {
		switch e := e.(type) {
		case *events.RunnableDispatched:
			if n, a := t.notice(uint64(e.Runnable)), t.open(e.Runnable); n != nil && a != nil && a.Decided == t.at {
				all = append(all, t.task(n, a))
			}
		case *events.RunnableCompleted:
			all = append(all, t.report(e.Runnable, nil, false))
		case *events.RunnableFailed:
			all = t.reportFailure(all, e.Runnable, &e.Error, e.Action)
		case *events.RunnableTimedOut:
			all = t.reportFailure(all, e.Runnable, &e.Error, e.Action)
		case *events.RunnableLost:
			all = t.reportFailure(all, e.Runnable, &e.Error, e.Action)
		}
	}
	return all
}

// reportFailure tells the workflow of the first failures, then ever more seldom, and of the last.
func (t *turn) reportFailure(all []machine.Effect, drain events.RunnableID, err *events.TaskError, action events.Action) []machine.Effect {
	if t.head == nil || action == events.ActionRetry && bits.OnesCount32(t.head.Failures) != 1 {
		return all
	}
	return append(all, t.report(drain, err, action != events.ActionRetry))
}

// report tells the workflow how it goes. What is over is what was right behind this attempt:
// the record may go on with the next notice.
func (t *turn) report(drain events.RunnableID, err *events.TaskError, givenUp bool) machine.Effect {
	r := events.NoticeReport{Run: t.run, Over: uint64(drain), Drain: uint64(drain), GivenUp: givenUp, Error: err}
	if err != nil && !givenUp {
		r.Over--
	}
	if h := t.head; h != nil && h.Current == uint64(drain) {
		r.Attempts = h.Attempts
	} else if h != nil {
		r.Attempts = h.Took
	}
	return machine.Effect{Kind: machine.MessageEffect, Key: t.workflow, Value: wire.Marshal(&r)}
}

// token names an attempt.
func (t *turn) token(drain events.RunnableID, a *machine.Attempt) events.Token {
	return events.Token{Workflow: t.id, Run: t.run, Runnable: drain, Attempt: a.Attempt, Decided: a.Decided}
}

// task is the call that an attempt makes.
func (t *turn) task(n *notice, a *machine.Attempt) machine.Effect {
	drain := events.RunnableID(n.Drain)
	call := events.Task{
		Token: t.m.sealer.Seal(t.token(drain, a)),
		Task:  task, Component: component, Attempt: a.Attempt, Input: request(t.workflow, n), IdempotencyKey: n.ID,
		TraceParent: n.Trace, Timeout: CallTimeout.Milliseconds(),
	}
	return machine.Effect{Kind: machine.TaskEffect, Key: t.id, Queue: Queue, Runnable: drain, Value: wire.Marshal(&call)}
}

// request is the input of http.request: a CloudEvent in the binary content mode.
func request(workflow string, n *notice) json.RawMessage {
	b, err := json.Marshal(struct {
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
		Map     string            `json:"map"` // what the receiver says is no result of anybody's
	}{"POST", n.URL, map[string]string{
		"Ce-Specversion": "1.0", "Ce-Id": n.ID, "Ce-Type": events.DrainedType, "Ce-Source": "/v1/workflows/" + workflow,
		"Heddle-Workflow": workflow, "Heddle-Drain": strconv.FormatUint(n.Drain, 10),
	}, n.Body, "input.status"})
	if err != nil {
		panic("notices: the request of an accepted notice: " + err.Error())
	}
	return b
}

// lesser is a body that fits any record, in place of one that does not.
func (t *turn) lesser(n *events.Notice) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"id":%q,"workflow":%q,"run":%q,"drain":%d,"results":null,"results_url":%q}`,
		n.ID, t.workflow, t.run.String(), n.Drain, events.ResultsURL(t.workflow)))
}
