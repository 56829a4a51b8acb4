package planner

import (
	"github.com/heddle-run/heddle/shared/events"
)

// input accepts an input. While the workflow is paused or failed it is held:
// its activations are made but not admitted.
func (t *turn) input(b *events.FeedInput) {
	t.spend.brings(b.Input, b.Context)
	if !t.open(false) {
		return
	}
	value, ok := t.intake.input(t.graph(), b.Input)
	if !ok {
		return
	}
	e := &events.InputAccepted{Value: value, Replace: b.Mode == "replace", By: b.By}
	if e.Policies, ok = t.intake.policies(t.graph(), b.Policies); !ok {
		return
	}
	if e.Context, ok = t.intake.context(b.Context); !ok {
		return
	}
	e.Fact = t.nextFact()
	e.Held = t.head.Status == Paused || t.head.Status == Failed
	t.feed(e)
}

// feed accepts an input and sends it to the roots.
func (t *turn) feed(e *events.InputAccepted) {
	t.emit(e)
	t.pieces.add(events.Work{Kind: events.WorkSpread, Scope: e.Fact, Fact: e.Fact})
	t.scopes.count(e.Fact, 0)
}
