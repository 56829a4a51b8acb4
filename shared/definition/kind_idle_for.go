package definition

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/expr"
)

var idleForKind = kind{
	evaluated: true,
	fields: properties{
		{"idle_for", `{"anyOf": [{"$ref": "#/$defs/duration"}, {"$ref": "#/$defs/computed"}], "description": "Passes the value on once the component named by of has yielded nothing for this time."}`},
	},
	own: properties{
		{"of", `{"$ref": "#/$defs/name", "description": "The component whose silence an idle_for waits for."}`},
	},
	read: func(r *decoder, p *part, field, path string, v any) {
		if field == "of" {
			var ok bool
			if p.Idle.Of, ok = v.(string); !ok {
				r.fail(path, "must be the name of a component", "")
			}
			return
		}
		p.Idle.For = r.duration(path, v, false)
	},
	whole: func(r *decoder, p *part) {
		if p.Idle.Of == "" && !r.failedAt(join(p.path, "of")) {
			r.fail(join(p.path, "of"), "missing", "name the component whose silence it waits for: of: NAME")
		}
	},
	check:   (*builder).checkIdle,
	passes:  true,
	shape:   [2]string{"([", "])"},
	example: "{idle_for: 10m, of: y}\n  y: {expr: input}",
}

// Idle is how long another component must have been silent.
type Idle struct {
	For Duration
	Of  string // the component
}

func (b *builder) checkIdle(p *part, input *expr.Type) {
	b.check(p.Idle.For.Expr, input, p.path+".idle_for."+dollar)
	of := b.resolve(p.within, p.Idle.Of)
	switch {
	case p.Idle.Of == "": // refused already
		return
	case of == nil:
		b.fail(p.path+".of", fmt.Sprintf("unknown component %q", p.Idle.Of), b.nearest(p.within, p.Idle.Of))
		return
	case of.Within != p.Within:
		b.fail(p.path+".of", fmt.Sprintf("%q is outside of this body", p.Idle.Of), "name a component beside it")
		return
	case of.Index == p.Index:
		b.fail(p.path+".of", "waits for its own silence", "name another component")
		return
	case !p.Single:
		b.fail(p.path, "can be reached more than once per input, and waits once for a silence",
			"make the arms of its any exclude each other, or put an idle_for behind each of them")
	}
	of.Silences = append(of.Silences, p.Index)
}
