package definition

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

var stateMachineKind = kind{
	evaluated: true,
	fields:    properties{{"state_machine", `{"$ref": "#/$defs/expression", "description": "Its value for state and input is the next state, and the fact."}`}},
	own: properties{
		{"init", `{"description": "The state before anything has arrived: a literal."}`},
		{"reactors", `{
			"type": "array", "minItems": 1, "maxItems": 32,
			"items": {
				"type": "object", "additionalProperties": false, "required": ["when", "then"],
				"properties": {
					"when": {"$ref": "#/$defs/expression", "description": "A condition over state."},
					"edge": {"enum": ["rising", "level"], "description": "Whether it runs where the condition begins to hold, or for each state for which it does."},
					"then": {"$ref": "#/$defs/then"}
				}
			},
			"description": "What runs for which states."
		}`},
	},
	read: func(r *decoder, p *part, field, path string, v any) {
		switch field {
		case "init":
			r.init(p, path, v)
		case "reactors":
			r.reactors(p, path, v)
		default:
			if _, is := v.(map[string]any); is {
				r.fail(path, "must be an expression", "a task folds in accumulate: {step: task}, and runs for a state in reactors")
				return
			}
			r.reducer(p, path, v)
		}
	},
	whole:   (*decoder).initialised,
	check:   func(b *builder, p *part, input *expr.Type) { b.checkMachine(p, input) },
	yields:  stateOf,
	shape:   [2]string{"[(", ")]"},
	example: `{state_machine: "state + input", init: 0, reactors: [{when: state > 10, then: {step: mail.warn}}]}`,
}

// MaxReactors bounds the parts of a state machine: all of them are asked in one piece.
const MaxReactors = 32

// reactorPart follows the name of a state machine in that of a part of it, before its number.
const reactorPart = "/reactor/"

const reactorFields = "edge, then, when"

// reactors reads the parts of a state machine, each as a component of its own.
func (r *decoder) reactors(p *part, path string, v any) {
	list, _ := v.([]any)
	if len(list) == 0 || len(list) > MaxReactors {
		r.fail(path, fmt.Sprintf("must be a list of 1 to %d reactors", MaxReactors), "write reactors: [{when: state > 10, then: {step: task}}]")
		return
	}
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		part := &part{path: join(at, "then"), arms: []armSpec{{path: at, parent: p.Local()}}, within: p.within}
		part.Name, part.Join, part.Reactor = fmt.Sprintf("%s%s%d", p.Name, reactorPart, i), Single, &Reactor{}
		part.Kind = policy.KindExpr // until its then says otherwise
		r.reactor(part, at, r.object(at, item, "write {when: state > 10, then: {step: task}}"))
		p.reactors = append(p.reactors, part)
	}
}

func (r *decoder) reactor(p *part, path string, object map[string]any) {
	if object == nil {
		return
	}
	for _, field := range sortedKeys(object) {
		at, v := join(path, field), object[field]
		switch field {
		case "when":
			p.When = r.program(at, v, expr.CompileCondition)
		case "edge":
			p.Reactor.Level = oneOf(r, at, v, map[string]bool{"rising": false, "level": true})
		case "then":
			r.then(p, at, v)
		default:
			r.fail(at, "unknown field", policy.Known(field, reactorFields))
		}
	}
	for _, field := range []string{"when", "then"} {
		if object[field] == nil {
			r.fail(join(path, field), "missing", "write {when: state > 10, then: {step: task}}")
		}
	}
	if p.Task != "" {
		p.Kind = policy.KindStep
	}
}

// checkMachine checks a state machine, and tells it and its reactors of each other.
func (b *builder) checkMachine(p *part, input *expr.Type) {
	b.checkFold(p, input, "state_machine")
	for _, part := range p.reactors {
		p.Accumulate.Reactors = append(p.Accumulate.Reactors, part.Index)
		part.Reactor.Machine = p.Index
	}
}
