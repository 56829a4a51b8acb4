package planner

import (
	"encoding/json"
	"slices"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// headOutputs is how many outputs a definition may have for their newest facts
// to be in the header; with more, each has a row.
const headOutputs = 4

// latest is the newest fact of an output, in the header.
type latest struct {
	Component uint32
	Fact      events.FactID
}

// Fields implements wire.Message.
func (l *latest) Fields(c *wire.Codec) {
	wire.Int(c, 1, "component", &l.Component)
	wire.Int(c, 2, "fact", &l.Fact)
}

// latestRow is the newest fact of an output of a definition with many.
type latestRow struct{ Fact events.FactID }

// Fields implements wire.Message.
func (l *latestRow) Fields(c *wire.Codec) { wire.Int(c, 1, "fact", &l.Fact) }

func latestKey(wf string, component int) rows.Key {
	return rows.Key{Table: rows.Latest, Workflow: wf, A: uint64(component)}
}

// has reports whether results show the component.
func (outs *outputs) has(c *definition.Component) bool {
	for _, o := range outs.graph().Outputs {
		if o.Component == c.Index {
			return true
		}
	}
	return false
}

// note remembers the newest fact of a component that results show.
func (outs *outputs) note(component uint32, f events.FactID) {
	c := outs.component(component)
	if !outs.has(c) {
		return
	}
	if outs.head.SettledNext == 0 { // nothing is forgotten
		outs.set(component, f)
		return
	}
	before := outs.newest(c.Index)
	outs.set(component, f)
	outs.facts.let(before)
}

func (outs *outputs) set(component uint32, f events.FactID) {
	if len(outs.graph().Outputs) > headOutputs {
		outs.tx.Put(latestKey(outs.id, int(component)), &latestRow{Fact: f})
		return
	}
	h := outs.h()
	h.Latest = slices.Clone(h.Latest)
	for i := range h.Latest {
		if h.Latest[i].Component == component {
			h.Latest[i].Fact = f
			return
		}
	}
	h.Latest = append(h.Latest, latest{component, f})
}

// newest is the newest fact of an output, or 0.
func (outs *outputs) newest(component int) events.FactID {
	if len(outs.graph().Outputs) > headOutputs {
		if l := rows.Get[latestRow](outs.tx, latestKey(outs.id, component)); l != nil {
			return l.Fact
		}
		return 0
	}
	for _, l := range outs.head.Latest {
		if int(l.Component) == component {
			return l.Fact
		}
	}
	return 0
}

// results are the latest values of the outputs; null where none was produced.
func (outs *outputs) results() map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(outs.graph().Outputs))
	for _, o := range outs.graph().Outputs {
		all[o.Name] = outs.result(o)
	}
	return all
}

// result is the latest value of an output; null where none was produced.
func (outs *outputs) result(o definition.Output) json.RawMessage {
	if f := outs.newest(o.Component); f != 0 {
		if v := outs.facts.get(f).Value; len(v) > 0 {
			return v
		}
	}
	return json.RawMessage("null")
}
