package planner

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// notified takes a taker's word that it has an attempt.
func (t *turn) notified(m *events.TaskNotified) {
	id, r := t.attempt(m.Token)
	executor := events.Cut(m.Executor, events.MaxExecutor)
	if r == nil || r.Executor == executor && executor != "" && !m.Detached {
		return
	}
	t.emit(&events.RunnableNotified{Runnable: id, Channel: m.Channel, Executor: executor, Detached: m.Detached})
}

// heartbeat keeps the details that came with a heartbeat; one without details, or
// with more than there is room for, changes nothing.
func (t *turn) heartbeat(token []byte, details json.RawMessage) bool {
	id, r := t.attempt(token)
	if r == nil {
		return false
	}
	if len(details) > 0 && len(details) <= events.MaxDetails && notJSON(details) == "" {
		t.emit(&events.RunnableHeartbeat{Runnable: id, Details: details})
	}
	return true
}

// byToken finds the open attempt that a command names.
func (t *turn) byToken(text string) []byte {
	if !t.known() {
		return nil
	}
	sealed, err := events.ParseTokenText(text)
	if err == nil {
		if _, r := t.attempt(sealed); r != nil {
			return sealed
		}
	}
	t.refuse("attempt_closed", "no open attempt has this token")
	return nil
}

func (t *turn) completeByToken(b *events.CompleteAttempt) {
	if token := t.byToken(b.Token); token != nil {
		result, ok := t.compact("result", b.Result)
		if ok {
			t.outcome(&events.TaskOutcome{Token: token, Outcome: events.OutcomeCompleted, Result: result, Executor: "api", Finished: t.now})
		}
	}
}

func (t *turn) failByToken(b *events.FailAttempt) {
	if token := t.byToken(b.Token); token != nil {
		err := b.Error.TaskError()
		t.outcome(&events.TaskOutcome{Token: token, Outcome: events.OutcomeFailed, Error: &err, Executor: "api", Finished: t.now})
	}
}

func (t *turn) heartbeatByToken(b *events.HeartbeatAttempt) {
	if len(b.Details) > events.MaxDetails {
		t.refuseAt("invalid_field", "details", fmt.Sprintf("it has %d bytes, the limit is %d", len(b.Details), events.MaxDetails))
		return
	}
	if token := t.byToken(b.Token); token != nil {
		t.heartbeat(token, b.Details)
		if len(t.events) == 0 {
			t.ignore()
		}
	}
}

// lost applies the partition's finding that nobody works on an attempt any more.
func (t *turn) lost(l *machine.Lost) {
	r := t.runnable(l.Runnable)
	if t.head == nil || r == nil || r.Status != runActive || r.Attempt != l.Attempt || r.External {
		return
	}
	t.failFor(l.Runnable, events.TaskError{
		Type:    events.ErrorLost,
		Message: l.Reason + "; whether it had effects is unknown",
	}, "", lostAttempt)
}
