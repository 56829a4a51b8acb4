package sim

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/heddle-run/heddle/internal/kafka"
)

// commanding is the sequential specification that histories are held against: a
// workflow as commands and reads see it (linear_spec.go).
var commanding = porcupine.Model{
	Init: func() any { return account{} },
	Step: func(state, input, _ any) (bool, any) {
		next, ok := state.(account).after(input.(*call))
		return ok, next
	},
	DescribeOperation: func(input, _ any) string {
		c := input.(*call)
		return fmt.Sprintf("%s: %s", c.what, replyText(c.reply))
	},
}

// understood are the refusals that do not look at the workflow.
var understood = map[string]bool{
	"missing_field": true, "invalid_field": true, "unknown_command": true, "conflict": true, "not_json": true, "too_deep": true, "invalid_workflow_id": true, "internal_error": true, "unknown_query": true, "quarantined": true, "too_large": true, "expired": true,
}

// unacceptable are the refusals of what a command brings along.
var unacceptable = map[string]bool{
	"invalid_definition": true, "unknown_definition": true, "invalid_options": true, "invalid_policy": true, "invalid_input": true,
}

// auditHistories holds each workflow's calls, as its callers saw them, against
// the specification: there must be one order of them, within their times, that
// gives these answers.
func (w *world) auditHistories() {
	histories := w.histories()
	for _, id := range sortedKeys(histories) {
		if !porcupine.CheckOperations(commanding, histories[id]) {
			w.failAbout(w.workflow(id), "the calls of %s have no order that explains their answers:%s", id, describe(histories[id]))
		}
	}
}

// histories are the calls by workflow. What owners say who do not know yet that
// an operator has deposed them is left out.
func (w *world) histories() map[string][]porcupine.Operation {
	histories := map[string][]porcupine.Operation{}
	first := map[string]bool{}
	for _, c := range w.calls {
		if _, order := partitionOf(c.workflow); order || c.ended == 0 || w.doubtful[kafka.PartitionFor([]byte(c.workflow), w.plan.Partitions)] {
			continue
		}
		if key := c.workflow + "\x00" + c.id; c.id != "" {
			if first[key] { // its answer is the first one's: auditCalls sees to that
				continue
			}
			first[key] = true
		}
		all := histories[c.workflow]
		histories[c.workflow] = append(all, porcupine.Operation{ClientId: len(all), Input: c, Call: c.began, Return: c.ended})
	}
	return histories
}

func describe(ops []porcupine.Operation) string {
	text := ""
	for _, o := range ops {
		text += fmt.Sprintf("\n  %d…%d %s", o.Call, o.Return, commanding.DescribeOperation(o.Input, nil))
	}
	return text
}
