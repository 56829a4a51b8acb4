package definition

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

var sleepKind = kind{
	evaluated: true,
	fields: properties{
		{"sleep", `{"anyOf": [{"$ref": "#/$defs/duration"}, {"$ref": "#/$defs/computed"}], "description": "Passes the value on after this time."}`},
		{"sleep_ms", `{"anyOf": [{"$ref": "#/$defs/milliseconds"}, {"$ref": "#/$defs/computed"}]}`},
	},
	read: func(r *decoder, p *part, field, path string, v any) {
		p.Sleep = r.duration(path, v, field == "sleep_ms")
	},
	check: func(b *builder, p *part, input *expr.Type) {
		field := ".sleep."
		if p.Sleep.Millis {
			field = ".sleep_ms."
		}
		b.check(p.Sleep.Expr, input, p.path+field+dollar)
	},
	passes:  true,
	shape:   [2]string{"([", "])"},
	example: "{sleep: 1m30s}",
}

// duration reads a duration: a literal, or {"$": expression}.
func (r *decoder) duration(path string, v any, millis bool) Duration {
	if program, is := r.computed(under(path), v); is {
		return Duration{Expr: program, Millis: millis}
	}
	d, err := policy.DurationOf(v, millis)
	if err == nil && (d < 0 || d > policy.MaxDuration) {
		err = fmt.Errorf("must be from 0 to %s", policy.Longest)
	}
	if err != nil {
		r.fail(path, err.Error(), "")
	}
	return Duration{Fixed: d, Millis: millis}
}
