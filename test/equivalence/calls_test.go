package equivalence

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/calls"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// auditCalls holds what the client was told against the specification of
// commands and reads. sent are the commands that the topic has: all of them are
// the client's, so none is missing in its histories.
func (w *world) auditCalls(sent map[string]bool, journals [][]*events.Record) {
	w.t.Helper()
	r := w.asked
	r.mu.Lock()
	defer r.mu.Unlock()
	w.must(errors.Join(r.errs...))
	for id := range sent {
		if !r.sent[id] {
			w.t.Errorf("the command %q is in the topic, and the client has not sent it", id)
		}
	}
	answers := calls.Answers{}
	for _, c := range r.calls {
		switch {
		case c.ID == "" || c.What == "accept_loss": // which may be gone with what else its log loses
		case c.Ended > 0:
			w.must(answers.Hold(c, (*calls.Call).Verdict))
		case c.What != "complete" && c.What != "fail": // of those the last may be given up (completing)
			w.t.Errorf("nobody answered the command %s %q of %s", c.What, c.ID, c.Workflow)
		}
	}
	held := calls.Quarantines(journals)
	for id, h := range calls.Histories(r.calls) {
		if _, operators := events.PartitionOf(id); !operators {
			w.must(h.Check(held[id]...))
		}
	}
}

// covered is what has occurred in the journals and for the client.
func (w *world) covered(journals [][]*events.Record) workload.Coverage {
	all := workload.NewCoverage()
	for _, records := range journals {
		for _, rec := range records {
			all.Record(rec)
		}
	}
	w.asked.mu.Lock()
	defer w.asked.mu.Unlock()
	for _, c := range w.asked.calls {
		if c.ID != "" {
			all.Command(c.What)
		}
		if r := c.Reply.Refusal; r != nil {
			all.Refusal(r.Code)
		}
	}
	return all
}

// A history of a sound run is lawful, and is not any more when one answer in it
// is exchanged: the check can fail on what the recorder writes down.
func TestADoctoredHistoryOfTheClientIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost, strange := 0, 0
		for _, h := range undisturbed(t, workload.NewPlan(2)) {
			if err := h.Check(); err != nil {
				t.Error(err)
			}
			for i, c := range h {
				other := *c
				if c.What == calls.Asking+"workflow" && c.Reply.Refusal == nil {
					other.Reply.Body, other.Reply.Refusal = nil, &events.Refusal{Code: "not_found"}
					lost++
				} else if c.What == "input" {
					other.Reply.Body = ofAnotherRun(t, c.Reply.Body)
					strange++
				} else {
					continue
				}
				if h.With(i, other).Check() == nil {
					t.Errorf("%s of %s, answered with %s, is taken for lawful in%s", c.What, c.Workflow, calls.ReplyText(other.Reply), h)
				}
			}
		}
		if lost == 0 || strange == 0 {
			t.Errorf("%d reads and %d inputs were doctored", lost, strange)
		}
	})
}

// undisturbed are the client's histories of a run without faults.
func undisturbed(t *testing.T, p *workload.Plan) map[string]calls.History {
	w := newWorld(t, p)
	w.start(faultPlan{})
	w.driveAll("")
	w.stop()
	w.asked.mu.Lock()
	defer w.asked.mu.Unlock()
	return calls.Histories(w.asked.calls)
}

// ofAnotherRun is a summary with another run's name in it.
func ofAnotherRun(t *testing.T, summary json.RawMessage) json.RawMessage {
	var told struct{ Run string }
	if err := json.Unmarshal(summary, &told); err != nil || told.Run == "" {
		t.Fatalf("no summary: %s, %v", summary, err)
	}
	return json.RawMessage(strings.Replace(string(summary), `"run":"`+told.Run+`"`, `"run":"999.1"`, 1))
}
