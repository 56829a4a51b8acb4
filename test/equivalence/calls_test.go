package equivalence

import (
	"errors"

	"github.com/heddle-run/heddle/internal/sim/calls"
	"github.com/heddle-run/heddle/internal/sim/workload"
	"github.com/heddle-run/heddle/shared/events"
)

// auditCalls holds what the client was told against the specification of
// commands and reads. sent are the commands that the topic has: all of them are
// the client's, so none is missing in its histories.
func (w *world) auditCalls(sent map[string]bool) {
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
		case c.ID == "":
		case c.Ended > 0:
			w.must(answers.Hold(c, (*calls.Call).Verdict))
		case c.What != "complete" && c.What != "fail": // of those the last may be given up (completing)
			w.t.Errorf("nobody answered the command %s %q of %s", c.What, c.ID, c.Workflow)
		}
	}
	for _, h := range calls.Histories(r.calls) {
		w.must(h.Check())
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
