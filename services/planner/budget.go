package planner

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/machine"
)

// spending is what a decision has left of its budget. Only decisions spend: what
// replays a record, remakes its effects or answers a query has no limit.
type spending struct {
	limited bool
	budget  machine.Budget
	events  int
	bytes   int
	steps   int
	tasks   int

	account expr.Account // what the component that is evaluated may still take
	guarded bool         // one is: what exceeds its account gives it up
	over    *excess      // set in the moment when it is given up
}

// excess is why a component, a command or an outcome is not what it would be: it takes
// too much, or it is too large.
type excess struct {
	events.Refusal // of a command

	typ string // of the failure of an attempt
}

// overspent is the panic that ends an evaluation in the middle.
type overspent struct{}

// allow gives a decision its budget.
func (s *spending) allow(b machine.Budget) {
	s.limited, s.budget = true, b
	s.events, s.bytes, s.steps, s.tasks = b.Events, b.Bytes, b.Steps, b.Tasks
	s.account.Left = b.Steps
}

// brings adds what the expressions of a command may take for the values that it brings.
func (s *spending) brings(values ...json.RawMessage) {
	for _, v := range values {
		s.account.Left += machine.StepsPerByte * len(v)
	}
}

// steps is the account that expressions take their steps from; nil: of nobody.
func (w *workflow) account() *expr.Account {
	if !w.spend.limited {
		return nil
	}
	return &w.spend.account
}

// full reports whether a decision has done as much as one may: what is left is left
// in hand.
func (s *spending) full() bool {
	return s.limited && (s.events <= 0 || s.bytes <= 0 || s.steps <= 0 || s.tasks <= 0)
}

// writes counts an event.
func (s *spending) writes(e events.Event) {
	if s.limited {
		s.events--
		s.bytes -= events.Weight(e)
	}
}

// evaluate runs f, which evaluates a component over a value of so many bytes, with the
// steps that one may take. An excess says that they were not enough, or that what came of
// it is too large: f has recorded nothing then.
func (s *spending) evaluate(bytes int, f func()) (over *excess) {
	if !s.limited {
		f()
		return nil
	}
	outer, guarded := s.account.Left, s.guarded
	allowed := s.budget.Steps + machine.StepsPerByte*bytes
	s.account.Left, s.guarded = allowed, true
	defer func() {
		if over = s.over; over != nil { // else it is a panic of somebody else, which goes on
			_ = recover()
			s.over = nil
		}
		s.steps -= allowed - s.account.Left
		s.account.Left, s.guarded = outer, guarded
	}()
	f()
	return nil
}

// spent reports whether the component that is evaluated has no steps left: what its
// expressions say then is no error of theirs.
func (s *spending) spent() bool { return s.limited && s.account.Left < 0 }

// copies counts values that are put together to one, reads those that are read.
func (s *spending) copies(bytes int) {
	s.holds(bytes)
	s.pays(s.account.TakeText(bytes))
}

func (s *spending) reads(bytes int) { s.pays(s.account.Take(bytes / readBytes)) }

// readBytes is how much JSON encoding/json reads and writes in one step.
const readBytes = 4

func (s *spending) pays(enough bool) {
	if !enough && s.guarded {
		s.exceeds()
	}
}

// exceeds gives up the component that is evaluated: it takes too much.
func (s *spending) exceeds() {
	s.gives(&excess{typ: events.ErrorTooCostly, Refusal: events.Refusal{Code: "too_costly", Message: s.costs("it")}})
}

// costs says that something takes too many steps.
func (s *spending) costs(what string) string {
	return fmt.Sprintf("%s takes more than %d steps of expressions, the limit of one component (--decision-steps; %d for each byte of what arrives come on top)", what, s.budget.Steps, machine.StepsPerByte)
}

// beyond reports whether a value of the component that is evaluated is too large.
func (s *spending) beyond(bytes int) bool { return s.guarded && bytes > s.budget.Value }

// holds gives up the component that is evaluated if a value of it is too large.
func (s *spending) holds(bytes int) {
	if !s.beyond(bytes) {
		return
	}
	s.gives(tooLarge(fmt.Sprintf("its value has %d bytes, the limit is %d (--value-bytes, and what fits a record of the journal)", bytes, s.budget.Value)))
}

func (s *spending) gives(over *excess) {
	s.over = over
	panic(overspent{})
}

func tooLarge(message string) *excess {
	return &excess{typ: events.ErrorResultTooLarge, Refusal: events.Refusal{Code: "too_large", Message: message}}
}
