package planner

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// doubt names an attempt that was lost, and of which nobody knows what became. Its outcome counts
// whenever it comes, until another attempt is dispatched.
type doubt struct {
	Attempt uint32
	Decided events.Position
	Work    *events.Began // as of a runnable
}

// Fields implements wire.Message.
func (d *doubt) Fields(c *wire.Codec) {
	wire.Int(c, 1, "attempt", &d.Attempt)
	wire.Nested(c, 2, "decided", &d.Decided)
	wire.Optional(c, 3, "work", &d.Work)
}

// number is the attempt whose end is told of.
func (r *runnable) number() uint32 {
	if r.Doubt != nil && r.For == events.ForResult {
		return r.Doubt.Attempt
	}
	return r.Attempt
}

// hold makes a runnable uncertain whose attempt was lost, or whose probe came to nothing.
func (rs *runnables) hold(r *runnable) {
	r.doubtful()
	r.Status = runUncertain
	rs.h().troubled().Uncertain++
}

// probe lines a runnable up for an attempt of its probe.
func (rs *runnables) probe(id events.RunnableID, r *runnable) {
	r.doubtful()
	r.For = events.ForProbe
	rs.enqueue(id, r)
}

func (r *runnable) doubtful() {
	if r.Doubt == nil {
		r.Doubt = &doubt{r.Attempt, r.Decided, r.Work}
	}
}

// answered closes the attempt of a probe.
func (rs *runnables) answered(e *events.ProbeAnswered) {
	r := rs.change(e.Runnable)
	rs.leave(e.Runnable, r)
	rs.attemptOver(e.Runnable, r)
	rs.h().Outcomes++
	r.Past = remember(r.Past, pastAttempt{Attempt: r.Attempt, Outcome: outcomeAnswered, Time: rs.now, For: r.For})
	r.Status, r.For = 0, events.ForResult
}

const outcomeAnswered = "answered"

// arrived ends the doubt about an attempt: its own outcome follows.
func (rs *runnables) arrived(e *events.OutcomeArrived) {
	r := rs.change(e.Runnable)
	if r.Status == runActive { // the probe need not answer any more
		r.Past = remember(r.Past, pastAttempt{
			Attempt: r.Attempt, Outcome: "cancelled", Time: rs.now, For: r.For,
			Error: events.TaskError{Type: events.ErrorCancelled, Message: "the outcome that it asked for has come"},
		})
	}
	rs.leave(e.Runnable, r)
	rs.attemptOver(e.Runnable, r)
	r.Status, r.For = 0, events.ForResult
}

// doubted finds the runnable whose attempt, which a sealed token names, was lost and is in doubt.
func (en *ends) doubted(sealed []byte) (events.RunnableID, *runnable) {
	token, err := en.p.sealer.Open(sealed)
	if err != nil || en.head == nil || token.Workflow != en.id || token.Run != en.head.Run {
		return 0, nil
	}
	r := en.runs.get(token.Runnable)
	if r == nil || !r.Status.open() || r.Doubt == nil || r.Doubt.Attempt != token.Attempt || r.Doubt.Decided != token.Decided {
		return 0, nil
	}
	return token.Runnable, r
}

// late applies the outcome of an attempt that was lost: it is the truth. That a worker had not begun it
// says nothing: another one may have had it before.
func (en *ends) late(id events.RunnableID, m *events.TaskOutcome) {
	switch {
	case en.head.Status.winding():
		en.close(id)
	case m.Outcome == events.OutcomeUnknownTask || m.Outcome == events.OutcomeAbandoned:
	default:
		e := &events.OutcomeArrived{Runnable: id, Executor: m.Executor}
		if r := en.runs.get(id); r.delivered() { // its probe
			e.Attempt, e.Decided = r.Attempt, r.Decided
		}
		en.emit(e)
		en.end(id, en.runs.get(id), m)
	}
}

// question is what a probe gets.
func (cs *contexts) question(c *definition.Component, id events.RunnableID, r *runnable, input json.RawMessage) json.RawMessage {
	context := cs.of(c, r.Scope, cs.given(r))
	if len(context) == 0 {
		context = json.RawMessage("{}")
	}
	return mustJSON(struct {
		Input   json.RawMessage `json:"input"`
		Attempt uint32          `json:"attempt"`
		Key     string          `json:"idempotency_key"`
		Error   shownError      `json:"error"`
		Context json.RawMessage `json:"context"`
	}{input, r.Doubt.Attempt, cs.keyOfCalls(id, r), asShown(*r.Error), context})
}

// told is what a probe answers.
type told struct {
	Outcome string                 `json:"outcome"`
	Result  json.RawMessage        `json:"result"`
	Error   *events.AttemptFailure `json:"error"`
}

// readAnswer reads what a probe answers, exactly: where it is not what a probe may say, nobody guesses.
func readAnswer(value json.RawMessage) (a told, answer events.Answer) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	if d.Decode(&a) != nil {
		return a, 0
	}
	switch {
	case a.Outcome == "completed" && a.Error == nil:
		return a, events.AnswerCompleted
	case a.Outcome == "failed" && a.Result == nil:
		return a, events.AnswerFailed
	case a.Outcome == "not_done" && a.Result == nil && a.Error == nil:
		return a, events.AnswerNotDone
	}
	return a, 0
}

// answer applies what a probe answers: the outcome of the attempt that was lost, or that it was not done.
func (en *ends) answer(id events.RunnableID, value json.RawMessage, m *events.TaskOutcome) {
	a, answer := readAnswer(value)
	if answer == 0 {
		en.failFor(id, events.TaskError{
			Type:         events.ErrorInvalidResult,
			Message:      `the probe answers neither {"outcome": "completed", "result": …} nor {"outcome": "failed", "error": {…}} nor {"outcome": "not_done"}`,
			NonRetryable: true,
		}, m.Executor, failedAttempt)
		return
	}
	en.emit(&events.ProbeAnswered{Runnable: id, Answer: answer, Executor: m.Executor})
	r := en.runs.get(id)
	switch answer {
	case events.AnswerCompleted:
		en.completeWith(id, r, orNull(a.Result), m)
	case events.AnswerFailed:
		err := events.TaskError{Type: events.ErrorTaskFailed, Message: "the attempt failed"}
		if a.Error != nil {
			err = a.Error.TaskError().Bounded()
		}
		en.failFor(id, err, m.Executor, failedAttempt)
	case events.AnswerNotDone:
		en.notDone(id, r)
	}
}

// notDone replaces an attempt that was lost before it had effects, as often as the policy says.
func (en *ends) notDone(id events.RunnableID, r *runnable) {
	if most := r.policy().MaxLost; int(r.Losses) > most {
		err := *r.Error
		err.Message = events.Cut(fmt.Sprintf("%s; it was not done, and no more than %d lost attempts are replaced", err.Message, most), events.MaxErrorMessage)
		err.NonRetryable = true
		en.failFor(id, err, "", failedAttempt)
		return
	}
	en.emit(&events.RetryScheduled{Runnable: id, Due: en.now})
	en.queue.fresh = append(en.queue.fresh, r.place(id))
}
