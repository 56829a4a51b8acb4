package planner

import (
	"encoding/json"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
)

// cause is why a component does not run in a scope.
type cause uint8

const (
	notTaken   cause = 1 // a condition did not hold
	suppressed cause = 2 // something it needs failed or was skipped
)

// arrival is something on its way to one arm of a component: a fact; the parents
// of a component that was not taken, for its else; or, with a cause, the news
// that nothing can come any more.
type arrival struct {
	component uint32
	arm       uint32
	scope     events.ScopeID
	fact      events.FactID
	parents   []events.FactID // else: what the component that was not taken had
	dead      cause
}

// activation is one run of a component: its scope and what arrived at its arms.
type activation struct {
	scope   events.ScopeID
	parents []events.FactID
	depth   uint32
	input   json.RawMessage // edited by a retry, else empty
}

// travel moves facts and deaths along the edges until all have arrived.
func (t *turn) travel() {
	for i := 0; i < len(t.work); i++ {
		a := t.work[i]
		c := t.component(a.component)
		switch {
		case a.dead != 0:
			t.armDied(c, a)
		case c.Join == definition.List || c.Join == definition.Named:
			t.armArrived(c, a)
		case a.parents != nil:
			t.activate(c, a.scope, a.parents)
		default:
			if c.Join == definition.Any && c.Single {
				t.emit(&events.JoinArmArrived{Component: a.component, Scope: a.scope, Arm: a.arm, Fact: a.fact})
			}
			t.activate(c, a.scope, []events.FactID{a.fact})
		}
	}
	t.work = t.work[:0]
}

// activate decides whether the component is taken, and runs it.
func (t *turn) activate(c *definition.Component, s events.ScopeID, parents []events.FactID) {
	a := activation{scope: s, parents: parents, depth: t.depth(parents)}
	if c.When != nil {
		holds, err := c.When.Holds(t.env(c, a))
		if err != nil {
			t.activationFailed(c, 0, a, err)
			return
		}
		if !holds {
			t.passBy(c, a)
			return
		}
	}
	if c.Kind == definition.Step {
		t.arm(c, a)
		return
	}
	t.evaluate(c, 0, a)
}

// evaluate runs a component that needs no taker. id is its runnable when it is
// retried, else 0.
func (t *turn) evaluate(c *definition.Component, id events.RunnableID, a activation) {
	switch c.Kind {
	case definition.Expr:
		value, err := c.Expr.Eval(t.env(c, a))
		if err != nil {
			t.activationFailed(c, id, a, err)
			return
		}
		t.produce(c, id, a, value)
	case definition.Condition:
		t.condition(c, id, a)
	case definition.Sleep:
		t.sleep(c, id, a)
	case definition.Step:
		panic("a step is not evaluated by the planner")
	}
}

// condition passes the arriving fact on, or makes one of what a join handed over.
func (t *turn) condition(c *definition.Component, id events.RunnableID, a activation) {
	holds, err := c.Expr.Holds(t.env(c, a))
	switch {
	case err != nil:
		t.activationFailed(c, id, a, err)
	case !holds:
		if id != 0 {
			t.emit(&events.RunnableSkipped{Runnable: id})
		}
		t.passBy(c, a)
	case id != 0 || !t.isFact(c) || t.isOutput(c):
		t.produce(c, id, a, t.value(c, a))
	default:
		t.yield(c, a.scope, a.parents[0])
	}
}

// produce makes the fact of a component that needed no attempt, or of a retried one.
func (t *turn) produce(c *definition.Component, id events.RunnableID, a activation, value json.RawMessage) {
	f := t.nextFact()
	if id != 0 {
		t.emit(&events.RunnableCompleted{Runnable: id, Fact: f, Value: value, Started: t.now, Finished: t.now})
	} else {
		t.emit(&events.FactProduced{Fact: f, Component: uint32(c.Index), Scope: a.scope, Parents: a.parents, Value: value})
	}
	t.yield(c, a.scope, f)
}

func (t *turn) sleep(c *definition.Component, id events.RunnableID, a activation) {
	d, err := c.Sleep.Of(t.env(c, a))
	if err != nil {
		t.activationFailed(c, id, a, err)
		return
	}
	if id == 0 {
		id = t.ready(c, a, nil)
	}
	t.emit(&events.TimerArmed{Runnable: id, Due: t.now + d.Milliseconds()})
}

// ready makes the runnable of an activation.
func (t *turn) ready(c *definition.Component, a activation, policy []byte) events.RunnableID {
	id := t.nextRunnable()
	t.emit(&events.RunnableReady{
		Runnable: id, Component: uint32(c.Index), Scope: a.scope, Parents: a.parents, Depth: a.depth, Policy: policy,
	})
	return id
}

// activationFailed ends an activation that an expression made impossible. It is
// never retried by itself: the same values would fail again.
func (t *turn) activationFailed(c *definition.Component, id events.RunnableID, a activation, err error) {
	pol := t.policyFor(c, a)
	if id == 0 {
		id = t.ready(c, a, pol.Append(nil))
	}
	t.failFor(id, events.TaskError{Type: events.ErrorExpression, Message: err.Error(), NonRetryable: true}, "", failedAttempt)
}

// yield sends a component's fact on: to its children, and the news to its else
// that it was taken.
func (t *turn) yield(c *definition.Component, s events.ScopeID, f events.FactID) {
	for _, e := range c.Children {
		a := arrival{component: uint32(e.Component), arm: uint32(e.Arm), scope: s}
		if e.Else {
			a.dead = notTaken
		} else {
			a.fact = f
		}
		t.work = append(t.work, a)
	}
}

// passBy sends the value of a component that is not taken to its else, and the
// news to its children.
func (t *turn) passBy(c *definition.Component, a activation) {
	t.emit(&events.BranchNotTaken{Component: uint32(c.Index), Scope: a.scope})
	for _, e := range c.Children {
		w := arrival{component: uint32(e.Component), arm: uint32(e.Arm), scope: a.scope}
		if e.Else {
			w.parents = a.parents
		} else {
			w.dead = notTaken
		}
		t.work = append(t.work, w)
	}
}

// dieFrom tells everything behind a component that nothing comes from it.
func (t *turn) dieFrom(component uint32, s events.ScopeID, why cause) {
	for _, e := range t.component(component).Children {
		t.work = append(t.work, arrival{component: uint32(e.Component), arm: uint32(e.Arm), scope: s, dead: why})
	}
}

// value is what arrived at a component, as its expressions and its task see it.
func (t *turn) value(c *definition.Component, a activation) json.RawMessage {
	if len(a.input) > 0 {
		return a.input
	}
	return t.arrived(c, a.parents)
}

func (t *turn) env(c *definition.Component, a activation) expr.Env {
	return t.envOver(c, a, t.setup().Context)
}

// envOver is the same with another context of the workflow.
func (t *turn) envOver(c *definition.Component, a activation, run json.RawMessage) expr.Env {
	return expr.Env{
		Input:      t.value(c, a),
		Context:    t.context(c, a.scope, run),
		WorkflowID: t.wf,
		Now:        t.time(),
		Account:    t.spend.account(),
	}
}

func (t *turn) time() time.Time { return time.UnixMilli(t.now).UTC() }

func (t *turn) depth(parents []events.FactID) uint32 {
	var most uint32
	for _, id := range parents {
		if id != 0 {
			most = max(most, t.fact(id).Depth+1)
		}
	}
	return most
}
