package workload

import (
	"fmt"
	"strconv"

	"github.com/heddle-run/heddle/shared/events"
)

// Expressions of idempotency keys: one that is the same whenever it is evaluated, and one that is not.
const (
	steadyKey  = "workflow.id + '/once'"
	passingKey = "string(now().UnixMilli())"
)

// keyed lets some steps have a key of their policy: the numbers that are drawn already say which. An attempt that is published
// together with its record may run, and be decided anew at another time.
func (c *Component) keyed() {
	switch {
	case c.add%5 == 0:
		c.needs["idempotency_key"] = steadyKey
	case c.add%5 == 1 && !c.Async():
		c.needs["idempotency_key"] = passingKey
	}
}

// keyed holds that the first attempt of a runnable has the key that its policy gives, that no other one
// evaluates it again, and that workers are given that key, or the runnable's own.
func (c *journalChecker) keyed(rec *events.Record, r *run, a *attempts, e *events.RunnableDispatched) {
	want := ""
	switch text := a.policy.IdempotencyKey; {
	case a.key != "" || text == "":
	case text == steadyKey:
		want = rec.Workflow + "/once"
	default:
		want = strconv.FormatInt(rec.Time, 10)
	}
	if e.Key != want {
		c.fail(rec, "attempt %d of %s is given the idempotency key %q, want %q", e.Attempt, e.Runnable, e.Key, want)
	}
	if want != "" {
		a.key = want
	}
	key := a.key
	if key == "" {
		key = fmt.Sprintf("%s/%s/%s", rec.Workflow, r.ID, e.Runnable)
	}
	got := c.memory.Key(attemptID{rec.Workflow, r.ID, e.Runnable, e.Attempt}, rec.Position)
	if got != "" && got != key {
		c.fail(rec, "attempt %d of %s ran with the idempotency key %q, want %q", e.Attempt, e.Runnable, got, key)
	}
}
