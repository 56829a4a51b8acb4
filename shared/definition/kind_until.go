package definition

import (
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/expr"
)

var untilKind = kind{
	evaluated: true,
	fields: properties{
		{"until", `{"anyOf": [{"type": "string", "description": "RFC 3339, as 2030-01-31T09:00:00Z."}, {"$ref": "#/$defs/computed"}], "description": "Passes the value on at this time; at once, if it is over."}`},
	},
	read: func(r *decoder, p *part, _, path string, v any) {
		p.Until = r.time(path, v)
	},
	check: func(b *builder, p *part, input *expr.Type) {
		b.check(p.Until.Expr, input, p.path+".until."+dollar)
	},
	passes:  true,
	shape:   [2]string{"([", "])"},
	example: `{until: "2030-01-31T09:00:00Z"}`,
}

// Time is a fixed or a computed moment.
type Time struct {
	Fixed time.Time
	Expr  *expr.Program // nil = Fixed
}

// Of evaluates the time.
func (t Time) Of(env expr.Env) (time.Time, error) {
	if t.Expr == nil {
		return t.Fixed, nil
	}
	v, err := t.Expr.Value(env)
	if err != nil {
		return time.Time{}, err
	}
	if at, is := v.(time.Time); is {
		return at, nil
	}
	at, err := timeOf(v)
	if err != nil {
		return time.Time{}, fmt.Errorf("expression %q: the value %w", t.Expr.Source(), err)
	}
	return at, nil
}

// timeOf reads a time as RFC 3339 writes it.
func timeOf(v any) (time.Time, error) {
	s, _ := v.(string)
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is no time: write RFC 3339, as 2030-01-31T09:00:00Z", show(v))
	}
	return at, nil
}

// time reads a time: a literal, or {"$": expression}.
func (r *decoder) time(path string, v any) Time {
	if program, is := r.computed(under(path), v); is {
		return Time{Expr: program}
	}
	at, err := timeOf(v)
	if err != nil {
		r.fail(path, err.Error(), "quote it, or compute it: "+expressionShape)
	}
	return Time{Fixed: at}
}
