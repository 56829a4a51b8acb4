package sim

import (
	"encoding/json"
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/heddle-run/heddle/internal/kafka"
)

// existence is what a workflow is to its callers as far as their own commands
// say: whether there is one of its id, and of which run.
type existence struct{ run string }

// existing is the sequential specification that histories are held against.
var existing = porcupine.Model{
	Init: func() any { return existence{} },
	Step: func(state, input, _ any) (bool, any) {
		s, c := state.(existence), input.(*call)
		next, ok := s.after(c)
		return ok, next
	},
	DescribeOperation: func(input, _ any) string {
		c := input.(*call)
		return fmt.Sprintf("%s: %s", c.what, replyText(c.reply))
	},
}

// after is what is there after a call, if its answer is possible before it.
func (s existence) after(c *call) (existence, bool) {
	code, there := "", s.run != ""
	if c.reply.Refusal != nil {
		code = c.reply.Refusal.Code
	}
	switch {
	case code == "not_found":
		return s, !there
	case c.what == "delete" && code == "":
		return existence{}, there == (c.reply.Result == "done")
	case c.what == "start" && code == "":
		return existence{c.run()}, !there
	case c.what == "start" && code == "already_started":
		return s, there
	case c.what == "query workflow":
		return s, s.run == c.run()
	case c.what == "start", c.what == "delete" && code != "not_closed", understood[code]:
		return s, true
	}
	return s, there
}

// understood are the refusals that do not look at the workflow.
var understood = map[string]bool{
	"missing_field": true, "invalid_field": true, "unknown_command": true, "conflict": true, "not_json": true, "too_deep": true, "invalid_workflow_id": true, "internal_error": true, "unknown_query": true, "quarantined": true, "attempt_closed": true, "too_large": true, "expired": true,
}

// run is the run that an answer is about.
func (c *call) run() string {
	var body summary
	if json.Unmarshal(c.reply.Body, &body) != nil {
		return ""
	}
	return body.Run
}

// auditHistories holds each workflow's calls, as its callers saw them, against
// the specification: there must be one order of them, within their times, that
// gives these answers. What owners say who do not know yet that an operator has
// deposed them is left out.
func (w *world) auditHistories() {
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
	for _, id := range sortedKeys(histories) {
		if !porcupine.CheckOperations(existing, histories[id]) {
			w.fail("the calls of %s have no order that explains their answers:%s", id, describe(histories[id]))
		}
	}
}

func describe(ops []porcupine.Operation) string {
	text := ""
	for _, o := range ops {
		text += fmt.Sprintf("\n  %d…%d %s", o.Call, o.Return, existing.DescribeOperation(o.Input, nil))
	}
	return text
}
