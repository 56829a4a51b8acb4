package planner

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// notified takes a worker's word that it has an attempt.
func (en *ends) notified(m *events.TaskNotified) {
	id, r := en.runs.open(m.Token)
	executor := events.Cut(m.Executor, events.MaxExecutor)
	if r == nil || en.head.Status.winding() || r.Executor == executor && executor != "" && (r.Pool != "" || !m.Detached) {
		return
	}
	en.emit(&events.RunnableNotified{Runnable: id, Channel: events.Cut(m.Channel, events.MaxChannel), Executor: executor, Detached: m.Detached, At: en.now})
}

// heartbeat keeps the details that came with a heartbeat, if there is room for them, and
// lets the time for the next one begin where there is a limit to that. Nothing else changes.
func (en *ends) heartbeat(token []byte, details json.RawMessage) bool {
	id, r := en.runs.open(token)
	if r == nil || en.head.Status.winding() {
		return false
	}
	if len(details) > events.MaxDetails || notJSON(details) != "" {
		details = nil
	}
	if len(details) == 0 && r.silence(r.policy()) == 0 {
		return true
	}
	before, reason := r.reason(), reasonIn(details)
	if r.Detached && r.Pool == "" { // it was delivered, and who has it tells what it likes
		reason = ""
	}
	en.emit(&events.RunnableHeartbeat{Runnable: id, Details: details, Reason: string(reason)})
	if reason == delivery.LeaderMissingDeferred && reason != before {
		en.emit(&events.LeaderNotificationDeferred{Runnable: id})
	}
	return true
}

// byToken finds the open attempt that a command names.
func (en *ends) byToken(text string) []byte {
	if !en.known() {
		return nil
	}
	sealed, err := events.ParseTokenText(text)
	if err == nil {
		_, r := en.runs.open(sealed)
		if r == nil {
			_, r = en.doubted(sealed)
		}
		if r != nil && !en.head.Status.winding() {
			return sealed
		}
	}
	en.refuse("attempt_closed", "no open attempt has this token")
	return nil
}

func (en *ends) completeByToken(b *events.CompleteAttempt) {
	if token := en.byToken(b.Token); token != nil {
		result, ok := en.intake.compact("result", b.Result)
		if ok {
			en.outcome(&events.TaskOutcome{Token: token, Outcome: events.OutcomeCompleted, Result: result, Executor: events.OutcomeByAPI, Finished: en.now})
		}
	}
}

func (en *ends) failByToken(b *events.FailAttempt) {
	if token := en.byToken(b.Token); token != nil {
		err := b.Error.TaskError()
		en.outcome(&events.TaskOutcome{Token: token, Outcome: events.OutcomeFailed, Error: &err, Executor: events.OutcomeByAPI, Finished: en.now})
	}
}

func (en *ends) heartbeatByToken(b *events.HeartbeatAttempt) {
	if len(b.Details) > events.MaxDetails {
		en.refuseAt("invalid_field", "details", fmt.Sprintf("it has %d bytes, the limit is %d", len(b.Details), events.MaxDetails))
		return
	}
	if token := en.byToken(b.Token); token != nil {
		en.heartbeat(token, b.Details)
		if len(en.events) == 0 {
			en.ignore()
		}
	}
}

// lost applies the partition's finding that nobody works on an attempt any more.
func (en *ends) lost(l *machine.Lost) {
	r := en.runs.get(l.Runnable)
	if en.head == nil || r == nil || r.Status != runActive || r.Attempt != l.Attempt || r.External {
		return
	}
	if en.head.Status.winding() {
		en.close(l.Runnable)
		return
	}
	if l.Moved {
		en.moved(l.Runnable, r)
		return
	}
	if l.Unsure {
		en.ask(l.Runnable, r)
		return
	}
	en.failFor(l.Runnable, events.TaskError{
		Type:    events.ErrorLost,
		Message: l.Reason + "; whether it had effects is unknown",
	}, "", lostAttempt)
}
