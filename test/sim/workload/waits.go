package workload

import (
	"fmt"
	"strings"

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
		if c.kind != sleep || c.inner || d.One(3) {
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
func (g *Graph) signals(inputs []int64) []Deed { return g.Expected(inputs).signals }

// signal is the name of the signal that a component waits for.
func (c *Component) signal() string { return strings.ReplaceAll(c.Name, ".", "-") }

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
		out["signal"], out["key"] = c.signal(), c.weight()
		if c.patience > 0 {
			out["timeout"] = c.patience.String()
		}
		if c.remind != nil {
			out["remind"] = c.remind.spec(g)
		}
	case forTime:
		out["sleep_ms"] = c.rests.Milliseconds()
		if c.computed && !c.limit {
			out["sleep_ms"] = map[string]any{"$": fmt.Sprintf("(%s) %% %d", c.weight(), 1+c.rests.Milliseconds())}
		}
	}
}

// kindName is the component's kind in definitions and rules.
func (c *Component) kindName() string {
	switch {
	case c.sums != nil && c.sums.machine:
		return policy.KindStateMachine.String()
	case c.sums != nil:
		return policy.KindAccumulate.String()
	}
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
