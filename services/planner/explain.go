package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
)

// explanation says why a workflow is where it is: what holds it as a whole, and what
// each thing waits for that is not done.
type explanation struct {
	Status  string   `json:"status"`
	Reasons []string `json:"reasons"`
	list             // the runnables that are open or have failed
}

// explain answers why the workflow is where it is.
func (vw *view) explain(q *events.Query) (any, *events.Refusal) {
	undone, from, pick, refusal := vw.asked(q)
	if refusal != nil {
		return nil, refusal
	}
	pick.undone = true
	vw.listOthers(&undone, max(from, othersFrom)-othersFrom, pick)
	return explanation{Status: vw.head.Status.String(), Reasons: vw.reasons(), list: undone}, nil
}

// reasons are what holds the workflow as a whole, and what is strange about it.
func (vw *view) reasons() []string {
	h, all := vw.head, []string{}
	if r := h.Trouble; r != nil && r.Quarantine != "" {
		all = append(all, "it is quarantined: "+r.Quarantine+"; look at it, then resume it")
	}
	if s := vw.restReason(); s != "" {
		all = append(all, s)
	}
	if h.Until != 0 && h.Status != Stopping {
		all = append(all, fmt.Sprintf("it is kept until %s, then it is deleted", events.Stamp(h.Until)))
	}
	if h.awaitsArchive() {
		all = append(all, "it has been kept for long enough, and is deleted once the archiver has it")
	}
	if n := h.inHand(); n > 0 {
		all = append(all, fmt.Sprintf("%d pieces of earlier decisions are still to be carried on", n))
	}
	if k := h.signalled().Kept; k > 0 {
		all = append(all, fmt.Sprintf("%d signals have come that nobody waits for; they are kept until they expire", k))
	}
	return all
}

// restReason is why a workflow in its state does not go on by itself; empty: it goes on.
func (vw *view) restReason() string {
	h := vw.head
	switch h.Status {
	case Idle:
		return "everything has settled: it waits for inputs"
	case Paused:
		return "it is paused: resume it"
	case Failed:
		return vw.failedReason()
	case Stopping:
		if h.Until == 0 {
			return "it is being stopped: its attempts are being closed"
		}
		return fmt.Sprintf("it is being stopped: %d attempts may end until %s, then they are closed", h.Slots, events.Stamp(h.Until))
	case Stopped:
		return "it is stopped: resume it"
	case Completed, Cancelled:
		return "it is " + h.Status.String() + " for good"
	case Cancelling, Deleting:
		return "it is " + h.Status.String()
	case Running:
		if n := h.uncertain(); n > 0 && h.open() == n {
			return fmt.Sprintf("%d attempts are uncertain: their workers vanished; complete or fail them by their tokens, retry or skip them", n)
		}
	}
	return ""
}

func (vw *view) failedReason() string {
	f := vw.head.Failure
	if f == nil {
		return "it has failed: retry or skip what failed"
	}
	return fmt.Sprintf("it has failed: %s (%s) with %s: %s; retry or skip it",
		vw.component(f.Component).Name, f.Runnable, f.Error.Type, f.Error.Message)
}
