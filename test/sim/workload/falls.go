package workload

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// The tasks that take the place of a component's own, by what an attempt of them is for.
const (
	spareTask = "spare" // of a fallback
	lookTask  = "look"  // of a probe
)

// fall gives some steps a fallback without which they fail for good. What they come to is the
// same: what their own attempts would have given, or a number that both have.
func (d Dice) fall(w *Workflow) {
	for _, c := range w.Graph.Components {
		if c.ownWay() && d.One(5) {
			d.fallback(c, w.mayFail())
		}
	}
}

// doubt lets some steps be uncertain, or be asked after, when their workers have vanished.
func (d Dice) doubt(w *Workflow) {
	for _, c := range w.Graph.Components {
		if !c.ownWay() || c.Acts.Fails > 0 || c.needs["on_lost"] != nil || !d.One(3) {
			continue
		}
		c.Acts.Doubt = Pick(d, policy.HoldLost, policy.ProbeLost)
		c.needs["on_lost"] = "hold"
		if c.Acts.Doubt == policy.ProbeLost {
			c.needs["on_lost"] = Pick(d, map[string]any{"probe": lookTask}, map[string]any{"probe": lookTask, "queue": "orders"})
		}
		c.Acts.Troubled = w.mayFail() && c.Acts.Falls == 0
		if c.Acts.Troubled {
			c.needs["on_failure"] = "halt"
		}
		if !d.One(4) { // long enough to be lost
			c.Acts.Takes = d.Millis(2500, 6000)
			delete(c.needs, "timeout_ms")
		}
		c.own = own(false, c.needs)
	}
}

// ownWay reports whether a component is a step whose end nothing else has a say in.
func (c *Component) ownWay() bool {
	b := &c.Acts
	return c.kind == step && !b.External && !b.Halts && !b.Hopeless && b.Hangs == 0 && c.breaks == 0 && !c.halts &&
		!c.reminds() && c.sums == nil && c.looks == nil && c.reacts == nil && !c.tolerated()
}

// mayFail reports whether the workflow may fail for a while, until its client tries again: what has failed
// is neither paused nor resumed.
func (w *Workflow) mayFail() bool {
	for _, m := range w.More {
		if m.What == PauseAndResume || m.What == StopAndResume {
			return false
		}
	}
	return true
}

// fallback draws what a step falls back to. One that takes an attempt may be lost, and then the step has failed.
func (d Dice) fallback(c *Component, mayFail bool) {
	forms := []policy.Form{policy.FallbackValue, policy.FallbackExpr}
	if mayFail {
		forms = append(forms, policy.FallbackTask, policy.FallbackRetry)
	}
	b := &c.Acts
	b.Falls, b.Fails = Pick(d, forms...), 0
	c.needs["max_retries"] = d.IntN(3)
	switch b.Falls {
	case policy.FallbackValue:
		c.mul = 0
		c.needs["fallback"] = map[string]any{"value": c.add}
	case policy.FallbackExpr:
		c.mul = 0
		c.needs["fallback"] = map[string]any{"expr": fmt.Sprintf("attempt == 0 || error.type == '' ? -1 : %d", c.add)}
	case policy.FallbackTask:
		c.needs["fallback"] = Pick(d, map[string]any{"task": spareTask}, map[string]any{"task": spareTask, "queue": "orders"})
	case policy.FallbackRetry:
		c.needs["fallback"] = map[string]any{"retry_with": map[string]any{"spare": true}}
	}
	if b.Falls.Attempts() {
		c.needs["on_failure"] = "halt"
	}
	c.own = own(false, c.needs)
}

// ResultOf is what a step makes of what has arrived, whatever its task gets of that.
func (c *Component) ResultOf(arriving json.RawMessage) (json.RawMessage, error) {
	straight := *c
	straight.shaped = plain
	return straight.Result(arriving)
}

// Purpose is what an attempt is for, as its worker sees it.
func (c *Component) Purpose(t *events.Task) (events.Purpose, error) {
	var given struct {
		Spare bool `json:"spare"`
	}
	if len(t.Context) > 0 {
		if err := json.Unmarshal(t.Context, &given); err != nil {
			return 0, fmt.Errorf("the context %s: %w", t.Context, err)
		}
	}
	switch falls, probes := c.Acts.Falls, c.Acts.Doubt == policy.ProbeLost; {
	case t.Task == spareTask && falls == policy.FallbackTask, t.Task == c.task() && falls == policy.FallbackRetry && given.Spare:
		return events.ForFallback, nil
	case t.Task == lookTask && probes:
		return events.ForProbe, nil
	case t.Task == c.task() && !given.Spare:
		return events.ForResult, nil
	}
	return 0, fmt.Errorf("%s has a task %q, with the context %s", c.Name, t.Task, t.Context)
}

// Look is what a probe answers that is asked with a question, drawn of a number; sometimes nothing that a
// planner understands.
func (c *Component) Look(question json.RawMessage, draw int) (json.RawMessage, error) {
	var of struct {
		Input   json.RawMessage `json:"input"`
		Attempt int             `json:"attempt"`
		Key     string          `json:"idempotency_key"`
		Error   struct{ Type string }
	}
	err := json.Unmarshal(question, &of)
	if err == nil && (of.Attempt == 0 || of.Key == "" || of.Error.Type != events.ErrorLost) {
		err = fmt.Errorf("it does not say which attempt was lost")
	}
	if err != nil {
		return nil, fmt.Errorf("the question %s: %w", question, err)
	}
	switch {
	case draw%4 == 0:
		return json.RawMessage(`"who knows"`), nil
	case draw%4 == 1 && c.Acts.Troubled:
		return json.RawMessage(`{"outcome": "failed", "error": {"type": "temporary", "message": "it may work the next time"}}`), nil
	case draw%4 == 2 || c.Acts.Falls != 0: // what fails each time was not done
		return json.RawMessage(`{"outcome": "not_done"}`), nil
	}
	result, err := c.Result(of.Input)
	return fmt.Appendf(nil, `{"outcome": "completed", "result": %s}`, result), err
}
