package workload

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/policy"
)

// dress says in other ways what a workflow is told. What a component needs to end
// well comes to it by rules of one list or another; whatever else is said changes
// how soon it ends, and nothing of what it comes to.
func (d Dice) dress(w *Workflow) {
	g := w.Graph
	pauses := slices.ContainsFunc(w.More, func(m Deed) bool { return m.What == PauseAndResume || m.What == StopAndResume })
	for _, c := range g.Components {
		d.detail(c, !pauses)
	}
	d.options(w)
	for _, c := range g.Components {
		d.place(g, c)
	}
	g.rules = d.among(g.rules)
	w.Rules = d.list(g, false)
	for i := range w.More {
		m := &w.More[i]
		if m.What != Checkpoint && m.What != Signal {
			m.Replace = m.What == Feed && d.One(4)
			m.Rules = d.list(g, m.Replace)
		}
	}
	w.delay()
	w.mustBeTaken()
}

// mustBeTaken holds that nothing of what a workflow is told is refused.
func (w *Workflow) mustBeTaken() {
	d, err := definition.Parse([]byte(w.Graph.Source()))
	if err != nil {
		panic(fmt.Sprintf("%v\n%s", err, w.Graph.Source()))
	}
	g, err := definition.Compile(d)
	if err != nil {
		panic(err)
	}
	for _, list := range w.lists() {
		if len(list) == 0 {
			continue
		}
		rules, err := policy.ParseRules(json.RawMessage(list.text()), "policies")
		if err == nil {
			err = g.CheckRules(rules)
		}
		if err != nil {
			panic(fmt.Sprintf("%v\n%s", err, list.text()))
		}
	}
}

// lists are all that are given with the workflow.
func (w *Workflow) lists() []Rules {
	all := []Rules{w.Rules}
	for _, m := range w.More {
		all = append(all, m.Rules)
	}
	return all
}

// detail draws what the shape of a graph does not depend on. halting: the workflow
// may fail, and its client tries again.
func (d Dice) detail(c *Component, halting bool) {
	c.computed, c.gives = d.One(3), d.One(5)
	b := &c.Acts
	if b.Hangs == 0 && d.One(2) { // then it is lost with its worker
		delete(c.needs, "timeout_ms")
	}
	switch {
	case c.kind != step || c.tolerated() || c.reminds():
	case b.Hopeless && d.One(3):
		c.needs = fields{"preset": "io"}
	case !halting:
	case b.External && d.One(2):
		c.needs["timeout_ms"], c.needs["max_retries"], c.needs["on_failure"] = d.Between(1000, 4000), d.IntN(3), "halt"
	case !b.External && !b.Hopeless && c.needs["on_lost"] == nil && d.One(2):
		c.needs["max_lost"], c.needs["on_failure"] = Pick(d, 0, 0, 1), "halt"
		if b.Hangs == 0 { // long enough to be lost
			b.Takes = d.Millis(2500, 6000)
			delete(c.needs, "timeout_ms")
		}
	}
}

// options draws those of the definition and of the run.
func (d Dice) options(w *Workflow) {
	g := w.Graph
	if d.One(3) {
		g.schema = map[string]any{"type": "integer", "minimum": 0}
	}
	if d.One(3) {
		g.options["labels"] = map[string]any{"kind": "random", "first": map[string]any{"$": "input"}}
	}
	if w.Run == nil {
		w.Run = map[string]any{}
	}
	if d.One(2) {
		Pick(d, g.options, w.Run)["drain_ms"] = d.Between(1, 2500)
		for i := range w.More {
			w.More[i].ByOption = w.More[i].What == StopAndResume && d.One(2)
		}
	}
	for _, of := range []map[string]any{g.options, w.Run} {
		if d.One(3) {
			of["on_failure"] = Pick(d, "halt", "skip")
		}
	}
	for _, c := range g.Components {
		if c.Acts.Halts || c.Acts.External {
			c.needs["on_failure"] = "halt" // whatever the options say
		}
	}
}
