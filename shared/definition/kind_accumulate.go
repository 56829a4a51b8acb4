package definition

import "github.com/heddle-run/heddle/shared/expr"

var accumulateKind = kind{
	evaluated: true,
	fields: properties{{"accumulate", `{
		"anyOf": [
			{"$ref": "#/$defs/expression"},
			{
				"type": "object", "additionalProperties": false, "required": ["step"],
				"properties": {"step": {"type": "string", "description": "The task that gets {state, input}."}, "params": {"type": "object"}, "queue": {"$ref": "#/$defs/queue"}}
			}
		],
		"description": "Its value for state and input is the next state, and the fact."
	}`}},
	own: properties{{"init", `{"description": "The state before anything has arrived: a literal."}`}},
	read: func(r *decoder, p *part, field, path string, v any) {
		if field == "init" {
			r.init(p, path, v)
		} else if object, is := v.(map[string]any); is {
			r.taskReducer(p, path, object)
		} else {
			r.reducer(p, path, v)
		}
	},
	whole:   (*decoder).initialised,
	check:   func(b *builder, p *part, input *expr.Type) { b.checkFold(p, input, "accumulate") },
	yields:  stateOf,
	shape:   [2]string{"[(", ")]"},
	example: `{accumulate: "state + input.total", init: 0}`,
}
