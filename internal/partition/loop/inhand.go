package loop

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// inHand is whose work decisions have left: each is continued in its turn.
type inHand struct {
	turns []string
	has   map[string]struct{}
}

// note adds a workflow behind the others, unless it waits for its turn already.
func (h *inHand) note(workflow string) {
	if _, waits := h.has[workflow]; waits {
		return
	}
	if h.has == nil {
		h.has = map[string]struct{}{}
	}
	h.has[workflow] = struct{}{}
	h.turns = append(h.turns, workflow)
}

// next takes the workflow whose turn it is.
func (h *inHand) next() string {
	workflow := h.turns[0]
	h.turns = h.turns[1:]
	delete(h.has, workflow)
	return workflow
}

// continueOne decides the next piece of one workflow: one in each step, so that what
// arrives for others never waits for more than that.
func (p *Processor) continueOne() {
	if len(p.hand.turns) > 0 && p.room() {
		p.decide(&decision{in: machine.Input{Workflow: p.hand.next(), Source: events.FromEngine, Continue: true}})
	}
}

// RecallInHand reads whose work is in hand.
func (p *Processor) RecallInHand() error {
	if p.Flaws.NoWork.On() {
		return nil
	}
	err := p.Stored.ScanTable(rows.InHand, func(k rows.Key, _ []byte) bool {
		p.hand.note(k.Workflow)
		return true
	})
	if err != nil {
		return fmt.Errorf("reading what is in hand: %w", err)
	}
	return nil
}
