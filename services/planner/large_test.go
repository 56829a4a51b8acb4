package planner

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/wire"
)

const (
	largestInput = 2 << 20       // of a command or an inbox record, by topics.yaml
	largestRow   = 4<<20 - 1<<10 // of the state's changelog, by topics.yaml
	nearlyAll    = largestInput - 1000
)

// fits holds that every row fits a record of the changelog: one that did not
// would stop every checkpoint of its partition, and so its lease.
func (w *world) fits(t *testing.T) {
	t.Helper()
	for _, k := range w.state.Keys() {
		if size := len(k.Append(nil)) + len(wire.Marshal(w.state.Get(k, nil))); size > largestRow {
			t.Errorf("the row %+v has %d bytes, the limit is %d", k, size, largestRow)
		}
	}
}

// text is a JSON string of so many bytes.
func text(size int) json.RawMessage {
	return json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
}

// What an attempt says of itself, as largely as a record can, and as often as it
// is tried: the rows that remember it still fit.
func TestWhatAttemptsSayFitsTheirRow(t *testing.T) {
	long := strings.Repeat("x", nearlyAll/4)
	failures := []*events.TaskError{
		{Type: long, Message: long, Details: json.RawMessage(strings.Repeat("\x00", nearlyAll/4))}, // as a string it is six times as long
		{Type: long, Message: strings.Repeat("é", events.MaxErrorMessage), Details: text(events.MaxDetails)},
	}
	w := newWorld(t, setting{})
	w.defs["x"] = `{"name":"x","policies":[{"match":"default","max_retries":30,"backoff":"none"}],"components":{"a":{"step":"f.id"}}}`
	w.command("w", "start", `{"definition":"x","input":1}`)
	token := func() []byte { return w.tasks[len(w.tasks)-1].Token }
	for i := range maxPastAttempts + 1 {
		w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{Token: token(), Outcome: events.OutcomeFailed, Error: failures[min(i, 1)]}})
	}
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskHeartbeat{Token: token(), Details: text(events.MaxDetails)}})
	if r := w.state.Get(runnableKey("w", 1), nil).(*runnable); len(r.Past) != maxPastAttempts || len(r.Heartbeat) != events.MaxDetails {
		t.Errorf("%d attempts are remembered, and %d bytes of a heartbeat", len(r.Past), len(r.Heartbeat))
	}
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskHeartbeat{Token: token(), Details: text(nearlyAll)}})
	w.command("w", "fail", fmt.Sprintf(`{"token":%q,"error":{"type":"t","message":"m","retryable":false}}`, events.TokenText(token())))
	w.command("w", "retry", `{"runnable":"r1","input":`+string(text(nearlyAll))+`}`)
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskNotified{Token: token(), Channel: "c", Executor: strings.Repeat("e", nearlyAll)}})
	w.fits(t)
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{Token: token(), Outcome: events.OutcomeCompleted, Result: text(nearlyAll), Executor: "e"}})
	w.fits(t)
}

// However often a workflow is resumed with more context, its row fits.
func TestContextsOfResumesFitTheirRow(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["x"] = `{"name":"x","components":{"a":{"step":"f.id"}}}`
	w.command("w", "start", `{"definition":"x","input":1}`)
	for i := range 5 {
		w.command("w", "pause", `{}`)
		w.command("w", "resume", fmt.Sprintf(`{"context":{"k%d":%s}}`, i, text(nearlyAll)))
		w.fits(t)
	}
	last := w.replies[len(w.replies)-1]
	if last.Refusal == nil || last.Refusal.Code != "too_large" || last.Refusal.Path != "context" {
		t.Errorf("the last is answered with %+v", last)
	}
	w.command("w", "resume", `{"context":{"k0":0}}`)
	if last := w.replies[len(w.replies)-1]; last.Refusal != nil {
		t.Errorf("what makes it smaller is answered with %+v", last.Refusal)
	}
}

// A failed attempt that asks for a wait which no time can say waits for very
// long: it is not tried again at once.
func TestALongWaitDoesNotOverflow(t *testing.T) {
	for _, ms := range []int64{1000, 1 << 53, math.MaxInt64 - 1_000_000, math.MaxInt64} {
		w := newWorld(t, setting{})
		w.defs["x"] = `{"name":"x","policies":[{"match":"default","max_retries":3}],"components":{"a":{"step":"f.id"}}}`
		w.command("w", "start", `{"definition":"x","input":1}`)
		w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{
			Token: w.tasks[0].Token, Outcome: events.OutcomeFailed, Error: &events.TaskError{Type: "t", RetryAfterMs: ms},
		}})
		r := w.state.Get(runnableKey("w", 1), nil).(*runnable)
		if len(w.tasks) != 1 || r.Status != runWaiting || r.Due < w.now+1000 {
			t.Errorf("after a wait of %d ms: %d tasks, %v until %d", ms, len(w.tasks), r.Status, r.Due)
		}
	}
}
