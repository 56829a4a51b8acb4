package calls

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/heddle-run/heddle/shared/events"
)

// History is the answered calls of one workflow, repetitions left out.
type History []*Call

// Histories are the answered calls by workflow, in the order they were given. A
// repetition of a command is left out: its answer is the first one's, which
// Answers holds.
func Histories(all []*Call) map[string]History {
	histories := map[string]History{}
	known := map[string]bool{}
	for _, c := range all {
		if c.Ended == 0 || c.ID != "" && known[c.key()] {
			continue
		}
		known[c.key()] = true
		histories[c.Workflow] = append(histories[c.Workflow], c)
	}
	return histories
}

// Check holds a history against the specification: there must be one order of
// the calls, within their times, that gives their answers. held are the records by
// which the workflow was quarantined, ascending.
func (h History) Check(held ...events.Position) error {
	ops := make([]porcupine.Operation, len(h))
	for i, c := range h {
		ops[i] = porcupine.Operation{ClientId: i, Input: c, Call: c.Began, Return: c.Ended}
	}
	if len(h) == 0 || porcupine.CheckOperations(specification(held), ops) {
		return nil
	}
	return fmt.Errorf("the calls of %s have no order that explains their answers:%s", h[0].Workflow, h)
}

// Quarantines are the records by which workflows were quarantined.
func Quarantines(journals [][]*events.Record) map[string][]events.Position {
	held := map[string][]events.Position{}
	for _, records := range journals {
		for _, rec := range records {
			for _, e := range rec.Events {
				if paused, ok := e.(*events.WorkflowPaused); ok && paused.Quarantine != "" {
					held[rec.Workflow] = append(held[rec.Workflow], rec.Position)
				}
			}
		}
	}
	return held
}

// String has a line for each call.
func (h History) String() string {
	var b strings.Builder
	for _, c := range h {
		fmt.Fprintf(&b, "\n  %d…%d %s: %s", c.Began, c.Ended, c.What, ReplyText(c.Reply))
	}
	return b.String()
}

// With is the history with another answer to its i-th call.
func (h History) With(i int, answer Call) History {
	other := append(History(nil), h...)
	other[i] = &answer
	return other
}

// specification is a workflow as commands and reads see it (spec.go).
func specification(held []events.Position) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return account{held: &held} },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := state.(account).after(input.(*Call))
			return ok, next
		},
	}
}
