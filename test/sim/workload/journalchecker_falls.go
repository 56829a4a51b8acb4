package workload

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// rescue is what a runnable has besides attempts of its own task.
type rescue struct {
	falling bool        // the fallback is to follow, in the same record
	fell    policy.Form // of the fallback that was applied; 0: none was

	doubt   uint32 // the attempt that was lost, and of which nobody knows what became; 0: there is none
	asks    bool   // the next attempt, or the open one, is a probe
	settles bool   // what became of it is known now, and follows in the same record
	undone  bool   // it was not done, and too many were lost already: its failure follows
}

// saved follows what takes the place of an outcome.
func (c *journalChecker) saved(rec *events.Record, r *run, e events.Event) {
	switch e := e.(type) {
	case *events.FallbackApplied:
		a := r.runnables[e.Runnable]
		form := policy.Form(e.Form)
		if !a.falling || a.fell != 0 || form != a.Component.Acts.Falls || e.Error.Type == "" {
			c.fail(rec, "%s falls back (form %s, for %q), and its policy says %q; it has failed for good: %v, fell back before: %q",
				e.Runnable, form, e.Error.Type, a.policy.Fallback, a.falling, a.fell)
		}
		a.falling, a.fell, a.doubt = false, form, 0
		if form.Attempts() {
			a.most = int(a.last) + 1
		}
	case *events.ProbeAnswered:
		a := r.runnables[e.Runnable]
		if !a.open || !a.asks {
			c.fail(rec, "the probe of %s answers, and it has none", e.Runnable)
		}
		c.Executed(rec, r, e.Runnable, e.Executor)
		c.close(rec, r, e.Runnable, "")
		a.waits, a.asks, a.settles = 0, false, e.Answer != events.AnswerNotDone
		if e.Answer == events.AnswerNotDone {
			a.least, a.longest = 0, 0
			a.most++
			a.undone = a.losses > a.policy.MaxLost
		}
	case *events.OutcomeArrived:
		a := r.runnables[e.Runnable]
		if a.doubt == 0 {
			c.fail(rec, "an outcome of %s comes late, and none of its attempts is in doubt", e.Runnable)
		}
		probe := uint32(0) // whose worker is told
		if a.open {
			probe = a.last
			c.close(rec, r, e.Runnable, "")
		}
		if e.Attempt != probe {
			c.fail(rec, "the worker of attempt %d of %s is told that it need not answer, want that of %d; 0: none", e.Attempt, e.Runnable, probe)
		}
		if rec.Input.Source == events.FromInbox { // a person may know of what never ran
			c.ran(rec, r, e.Runnable, a.doubt, e.Executor)
		}
		a.waits, a.asks, a.settles = 0, false, true
	}
}

// other is the queue of the attempt that a runnable has next, if that is not its component's.
func (a *attempts) other() string {
	switch {
	case a.asks:
		return a.policy.Probe.Queue
	case a.fell == policy.FallbackTask:
		fb, err := policy.ParseFallback(a.policy.Fallback)
		if err != nil {
			panic(err)
		}
		return fb.Other.Queue
	}
	return ""
}

// unsaved follows the end of an attempt that was for a fallback or for a probe: it is not tried again, and
// what it was to save fails or stays in doubt. It reports whether it was one.
func (c *journalChecker) unsaved(rec *events.Record, r *run, id events.RunnableID, action events.Action) bool {
	a := r.runnables[id]
	switch {
	case a.asks:
		if action != events.ActionHold {
			c.fail(rec, "the probe of %s comes to nothing: the action is %s", id, action)
		}
		c.close(rec, r, id, "")
		a.asks = false
	case a.fell != 0:
		if action == events.ActionRetry || action == events.ActionFallback || action == events.ActionHold || action == events.ActionProbe {
			c.fail(rec, "the fallback of %s comes to nothing: the action is %s", id, action)
		}
		c.close(rec, r, id, action.String())
	default:
		return false
	}
	return true
}

// gives holds that what fails for good falls back, if its policy says so, and nothing else does.
func (c *journalChecker) gives(rec *events.Record, id events.RunnableID, a *attempts, action events.Action, final bool) (ended string) {
	switch action {
	case events.ActionRetry:
		return ""
	case events.ActionFallback:
		if !final || a.policy.Fallback == "" {
			c.fail(rec, "%s falls back behind %d failures and %d losses; its policy says %q", id, a.failures, a.losses, a.policy.Fallback)
		}
		a.falling = true
		return ""
	default:
		if a.policy.Fallback != "" {
			c.fail(rec, "%s fails, and does not fall back: the action is %s, its policy says %q", id, action, a.policy.Fallback)
		}
		return action.String()
	}
}
