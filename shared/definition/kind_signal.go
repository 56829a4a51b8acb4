package definition

import (
	"github.com/heddle-run/heddle/shared/expr"
)

var signalKind = kind{
	evaluated: true,
	fields: properties{
		{"signal", `{"$ref": "#/$defs/name", "description": "Waits for a signal of this name; the signal's value is passed on."}`},
	},
	own: properties{
		{"key", `{"$ref": "#/$defs/expression", "description": "Of a signal: takes those with this key only."}`},
		{"schema", `{"type": ["object", "boolean"], "description": "A JSON Schema of the signal's value; its defaults are applied when a signal is accepted."}`},
		{"timeout", `{"anyOf": [{"$ref": "#/$defs/duration"}, {"$ref": "#/$defs/computed"}], "description": "Of a signal: the component fails when none has come in this time."}`},
		{"remind", `{
			"type": "object", "additionalProperties": false, "required": ["every", "max", "do"],
			"properties": {
				"every": {"$ref": "#/$defs/duration"},
				"max": {"type": "integer", "minimum": 1, "maximum": 1000},
				"do": {"$ref": "#/$defs/then"}
			},
			"description": "Of a signal: runs a step or an expression every so often while it waits."
		}`},
	},
	read: (*decoder).signal,
	check: func(b *builder, p *part, input *expr.Type) {
		b.check(p.Signal.Key, input, p.path+".key")
		if t := p.Signal.Timeout; t != nil {
			b.check(t.Expr, input, p.path+".timeout."+dollar)
		}
		if m := p.Signal.Remind; m != nil {
			m.Do = p.own.Index
			b.checkThen(p.own, p.own.path, input)
		}
	},
	yields: func(p *part) *expr.Type {
		if s := p.Signal.schema; s != nil {
			return expr.SchemaType(s.raw, s.raw)
		}
		return nil
	},
	shape:   [2]string{"[/", "/]"},
	example: "{signal: approved, key: input.order, schema: {type: object}, timeout: 48h}",
}

func (r *decoder) signal(p *part, field, path string, v any) {
	if p.Signal == nil {
		p.Signal = &Signal{}
	}
	switch s := p.Signal; field {
	case "signal":
		s.Name = r.text(path, v, nameShape, nameRule)
	case "key":
		s.Key = r.program(path, v, expr.Compile)
	case "schema":
		s.schema = r.schema(path, v)
	case "timeout":
		d := r.duration(path, v, false)
		s.Timeout = &d
	case "remind":
		r.remind(p, path, v)
	}
}
