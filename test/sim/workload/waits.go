package workload

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/policy"
)

// waiting is what a component waits for that passes on what arrives: all of them come to
// the same in the end.
type waiting int

const (
	forTime    waiting = iota
	forMoment          // until
	forSilence         // idle_for
	forSignal          // whose value is what arrived
)

// wait lets some components that sleep wait for something else, and the client send the
// signals that they wait for. Its dice are of its own: what arrives is the same.
func (d Dice) wait(w *Workflow) {
	g := w.Graph
	for i, c := range g.Components {
		if c.kind != sleep || d.One(3) {
			continue
		}
		c.waits, c.hush = Pick(d, forMoment, forSilence, forSignal, forSignal), d.IntN(len(g.Components))
		if c.waits == forSignal && c.shape != number || c.waits == forSilence && c.hush == i {
			c.waits = forMoment
		}
		if _, err := definition.Parse([]byte(g.Source())); err != nil { // it may come several times in a scope
			c.waits = forTime
		}
	}
	for _, s := range g.signals(w.Inputs()) {
		s.After, s.Again = d.Millis(0, 800), d.Again()
		at := d.IntN(len(w.More) + 1)
		w.More = append(w.More[:at:at], append([]Deed{s}, w.More[at:]...)...)
	}
}

// signals are those that the components wait for: one for each value that arrives, but where
// a race ends the wait.
func (g *Graph) signals(inputs []int64) (all []Deed) {
	e := Expectation{Productions: map[string][]string{}, Outputs: map[string][]string{}}
	for _, in := range inputs {
		out := make([]yielded, len(g.Components))
		for i, c := range g.Components {
			for _, v := range c.arriving(in, out) {
				if !c.told(out) {
					out[i].passed = append(out[i].passed, v)
					continue
				}
				if c.waits == forSignal && !c.limit && (c.when == nil || c.when.holds(v)) {
					all = append(all, Deed{What: Signal, Signal: c.Name, Input: weigh(v)})
				}
				c.activate(v, &out[i], &e)
			}
		}
	}
	return all
}

// Key is that of the signal of a deed.
func (d Deed) Key() string { return fmt.Sprint(d.Input) }

// pause is what a component waits for, as its definition says it.
func (g *Graph) pause(c *Component, out map[string]any) {
	switch c.waits {
	case forMoment:
		out["until"] = map[string]any{"$": fmt.Sprintf("now() + duration('%dms')", c.rests.Milliseconds())}
	case forSilence:
		out["idle_for"], out["of"] = c.rests.String(), g.Components[c.hush].Name
	case forSignal:
		out["signal"], out["key"] = c.Name, "input"
	case forTime:
		out["sleep_ms"] = c.rests.Milliseconds()
		if c.computed && !c.limit {
			out["sleep_ms"] = map[string]any{"$": fmt.Sprintf("(%s) %% %d", c.weight(), 1+c.rests.Milliseconds())}
		}
	}
}

// kindName is the component's kind in definitions and rules.
func (c *Component) kindName() string {
	switch c.waits {
	case forMoment:
		return policy.KindUntil.String()
	case forSilence:
		return policy.KindIdleFor.String()
	case forSignal:
		return policy.KindSignal.String()
	case forTime:
	}
	return c.kind.String()
}
