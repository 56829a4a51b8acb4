package workload

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// given are the rules that came with an input. alone: it has no others.
type given struct {
	rules Rules
	alone bool
}

// rulesOf finds the list that a record repeats.
func (c *journalChecker) rulesOf(rec *events.Record, r *run, text json.RawMessage) Rules {
	if len(text) == 0 {
		return nil
	}
	for _, list := range r.wf.lists() {
		if list.text() == string(text) {
			return list
		}
	}
	c.fail(rec, "it has the rules %s, which nobody gave", text)
	return nil
}

// governed holds the policy of a new runnable against the rules that are given by
// then: those of the input it descends from, of the workflow, of the component and
// of the definition.
func (c *journalChecker) governed(rec *events.Record, r *run, of *Component, e *events.RunnableReady) policy.Policy {
	got, err := policy.Parse(e.Policy)
	if err != nil {
		c.fail(rec, "the policy of %s: %v", e.Runnable, err)
	}
	if of.kind == sleep && of.waits != forSignal { // it has none until it fails
		return got
	}
	in := r.given[e.Scope]
	lists := []Rules{in.rules}
	if !in.alone {
		lists = append(lists, r.rules, of.own, r.wf.Graph.rules)
	}
	may := resolve(of, lists...)
	for _, f := range may {
		if policyOf(of, f, r.wf.reaction()) == got {
			return got
		}
	}
	c.fail(rec, "%s of %s has the policy %+v, and its rules give it %v", e.Runnable, of.Name, got, may)
	return got
}

// reaction is what a failure does where no rule says it.
func (w *Workflow) reaction() string {
	if said, ok := w.Run["on_failure"].(string); ok {
		return said
	}
	said, _ := w.Graph.options["on_failure"].(string)
	return said
}

// queue is where attempts go; nowhere if a client completes them.
func (a *attempts) queue() string {
	switch of, other := a.Component, a.other(); {
	case of.Acts.External:
		return ""
	case other != "":
		return other
	case a.policy.Queue != "":
		return a.policy.Queue
	case of.Acts.Queue != "":
		return of.Acts.Queue
	}
	return "default"
}

// lost follows the loss of an attempt: outside the retries, so many times.
func (c *journalChecker) lost(rec *events.Record, r *run, e *events.RunnableLost) {
	a := r.runnables[e.Runnable]
	a.waits = 0
	if c.unsaved(rec, r, e.Runnable, e.Action) {
		return
	}
	a.most++
	a.losses++
	a.least, a.longest = 0, 0
	want := events.ActionRetry
	switch over := a.policy.OnLost == policy.FailLost || a.losses > a.policy.MaxLost; {
	case a.policy.OnLost == policy.HoldLost:
		want, a.doubt = events.ActionHold, a.last
	case a.policy.OnLost == policy.ProbeLost:
		want, a.doubt, a.asks = events.ActionProbe, a.last, true
	case over && a.policy.Fallback != "":
		want, a.falling = events.ActionFallback, true
	case over:
		want = events.ActionHalt
	}
	ended := ""
	if want == events.ActionHalt {
		ended = want.String()
	}
	c.close(rec, r, e.Runnable, ended)
	if e.Action != want || c.steady {
		c.fail(rec, "%s, lost %d times, the last time by %s: the action is %s", e.Runnable, a.losses, e.Error.Message, e.Action)
	}
}

// retried follows a retry by command: its policy holds anew.
func (c *journalChecker) retried(rec *events.Record, a *attempts, e *events.RunnableRetried) {
	a.rescue = rescue{}
	if len(e.Input) > 0 {
		a.key = "" // it is another call
	}
	a.most, a.failures, a.losses, a.ended = int(a.last)+1+a.policy.MaxRetries, 0, 0, ""
	c.dated(rec, a, e.EndBy)
}

// pause bounds the wait in ms after so many failures, where the last
// asked for one itself.
func pause(p policy.Policy, failures int, asked int64) (least, most int64) {
	base, limit := p.BaseDelay.Milliseconds(), p.MaxDelay.Milliseconds()
	switch doubled := min(base<<min(failures-1, 20), limit); p.Backoff {
	case policy.None:
	case policy.Linear:
		most = min(base*int64(failures), limit)
		least = most
	case policy.Exponential:
		least, most = doubled, doubled
	case policy.Jitter:
		least, most = 1, max(doubled, 1)
	}
	return max(least, asked), max(most, asked)
}

// never reports whether a failure of a type must not be tried again: of the conditions that
// plans have, each ends with how many failures are too many.
func (a *attempts) never(errorType string) bool {
	if errorType != "" && slices.Contains(strings.Split(a.policy.NonRetryable, "\n"), errorType) {
		return true
	}
	_, bound, ok := strings.Cut(a.policy.RetryIf, "attempt < ")
	if !ok {
		return false
	}
	most, err := strconv.Atoi(bound)
	return err != nil || a.failures >= most
}
