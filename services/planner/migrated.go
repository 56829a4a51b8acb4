package planner

import (
	"math"
	"slices"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// numbering are the names of a run's components and signals in the order of their numbers, with
// those that its definition does not have any more.
type numbering struct {
	Graph      string // key of the compiled definition with these numbers
	Components []string
	Signals    []string
}

// Fields implements wire.Message.
func (n *numbering) Fields(c *wire.Codec) {
	wire.String(c, 1, "graph", &n.Graph)
	c.Strings(2, "components", &n.Components)
	c.Strings(3, "signals", &n.Signals)
}

func (n *numbering) names() definition.Numbering {
	return definition.Numbering{Components: n.Components, Signals: n.Signals}
}

// migrated lets the run go on with another definition. No other row changes but what results show:
// numbers mean what they have meant.
func (w *workflow) migrated(e *events.WorkflowMigrated) {
	names := w.graph().Numbering().With(definition.Numbering{Components: e.Components, Signals: e.Signals})
	set := w.changeSetup()
	if !slices.Contains(set.Former, set.Digest) {
		set.Former = append(slices.Clone(set.Former), set.Digest)
	}
	if !slices.Contains(set.Former, e.To) {
		rows.Change[pins](w.tx, pinsKey(e.To)).Runs++
	}
	set.Digest, set.Name, set.Version = e.To, e.Name, e.Version
	set.Numbering = &numbering{Graph: e.To + "/" + names.Key(), Components: names.Components, Signals: names.Signals}
	if len(e.Context) > 0 {
		w.contexts.set(set, e.Context)
	}
	if w.head.Status != Stopping {
		w.disarm() // it is kept for as long as the new definition says
	}
	w.outputs.shift(e)
	w.g = nil
}

// shift replaces what results show.
func (outs *outputs) shift(e *events.WorkflowMigrated) {
	keys, _ := outs.firstRows(rows.Latest, math.MaxInt, math.MaxInt)
	outs.deleteRows(keys)
	if len(outs.head.Latest) > 0 {
		outs.h().Latest = nil
	}
	if e.Outputs > headOutputs {
		for _, n := range e.Newest {
			outs.tx.Put(latestKey(outs.id, int(n.Component)), &latestRow{Fact: n.Fact})
		}
		return
	}
	for _, n := range e.Newest {
		h := outs.h()
		h.Latest = append(slices.Clone(h.Latest), latest{n.Component, n.Fact})
	}
}

// graphKey is where the compiled form of a run's definition is at hand: with numbers of its own if it was migrated.
func (s *setup) graphKey() string {
	if s.Numbering != nil {
		return s.Numbering.Graph
	}
	return s.Digest
}

// digests are those of all definitions that are pinned for the run.
func (s *setup) digests() []string {
	if slices.Contains(s.Former, s.Digest) {
		return s.Former
	}
	return append(slices.Clone(s.Former), s.Digest)
}
