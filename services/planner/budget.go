package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// spending is what a decision has left of its budget. Only decisions spend: what
// replays a record, remakes its effects or answers a query has no limit.
type spending struct {
	limited bool
	budget  machine.Budget
	bytes   int
	events  int
	tasks   int
	steps   expr.Account
	// admitted says that a task was: its end is a decision, which goes on.
	admitted bool
	alone    bool    // no attempt was open before that ends by itself
	over     *excess // set in the moment when the decision is given up
}

// excess is why a decision is not made as it would be: it fits no record, or no
// budget.
type excess struct {
	events.Refusal // of a command

	typ   string // of the failure of an attempt
	halts bool   // its failure halts, whatever the policy: it would exceed as well
}

// overspent is the panic that ends a decision in the middle; nothing of it stays.
type overspent struct{}

func (s *spending) allow(b machine.Budget, in machine.Input) {
	steps := b.Steps + machine.StepsPerByte*valueBytes(in)
	*s = spending{limited: true, budget: b, bytes: b.Bytes, events: b.Events, tasks: b.Tasks, steps: expr.Account{Left: steps}}
}

// valueBytes is the size of the values that an input brings.
func valueBytes(in machine.Input) int {
	if in.Command == nil {
		if o, ok := in.Inbox.(*events.TaskOutcome); ok {
			return len(o.Result)
		}
		return 0
	}
	switch b := in.Command.Body.(type) {
	case *events.StartWorkflow:
		return len(b.Input) + len(b.Context)
	case *events.FeedInput:
		return len(b.Input) + len(b.Context)
	case *events.RetryRunnables:
		return len(b.Input)
	case *events.CompleteAttempt:
		return len(b.Result)
	default: // the others bring none that an expression reads
		return 0
	}
}

// account is what expressions take their steps from.
func (s *spending) account() *expr.Account {
	if !s.limited {
		return nil
	}
	return &s.steps
}

// within decides within the budget. An excess says that it cannot be done; tx is
// then as it was.
func (p *Planner) within(tx *rows.Tx, at events.Position, now int64, in machine.Input, misfit *excess) (t *turn, over *excess) {
	t = p.begin(tx, at, now, in.Workflow)
	t.in, t.misfit = in, misfit
	t.spend.allow(p.cfg.Budget, in)
	defer func() {
		if over = t.spend.over; over != nil { // else it is a panic of somebody else, which goes on
			_ = recover()
			tx.Reset()
			t.events = nil
		}
		t.spend, t.contexts.lastMerge = spending{}, merge{}
	}()
	if misfit != nil {
		t.lesser(in)
	} else {
		t.take(in)
	}
	t.carryOn()
	return t, nil
}

// writes counts an event, and stops the decision that has none left.
func (s *spending) writes(e events.Event) {
	if !s.limited {
		return
	}
	s.events--
	s.bytes -= events.Weight(e)
	if s.events|s.bytes|s.steps.Left < 0 {
		s.exceeds()
	}
}

// copies counts values that are copied together, reads those that are read.
func (s *spending) copies(bytes int) { s.pays(s.account().TakeText(bytes)) }

func (s *spending) reads(bytes int) { s.pays(s.account().Take(bytes / readBytes)) }

// readBytes is how much JSON encoding/json reads and writes in one step.
const readBytes = 4

func (s *spending) pays(enough bool) {
	if !enough {
		s.exceeds()
	}
}

// exceeds gives the decision up.
func (s *spending) exceeds() {
	b := s.budget
	over := &excess{Refusal: events.Refusal{Code: "too_costly"}, typ: events.ErrorTooCostly}
	switch {
	case s.bytes < 0:
		over = tooLarge(fmt.Sprintf("is more than %d bytes, the limit of one decision (--decision-bytes)", b.Bytes))
	case s.events < 0:
		over.Message = fmt.Sprintf("what follows from it is more than %d events, the limit of one decision (--decision-events)", b.Events)
	default:
		over.Message = fmt.Sprintf("what follows from it takes more than %d steps of expressions, the limit of one decision (--decision-steps; %d for each byte of its input come on top)", b.Steps, machine.StepsPerByte)
	}
	s.over = over
	panic(overspent{})
}

func tooLarge(why string) *excess {
	return &excess{Refusal: events.Refusal{Code: "too_large", Message: "what follows from it " + why}, typ: events.ErrorResultTooLarge}
}
