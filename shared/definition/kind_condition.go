package definition

import (
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

var conditionKind = kind{
	name:      policy.KindCondition,
	evaluated: true,
	fields:    []string{"condition"},
	read: func(r *decoder, p *part, _, path string, v any) {
		p.Expr = r.program(path, v, expr.CompileCondition)
	},
	check: func(b *builder, p *part, input *expr.Type) {
		b.check(p.Expr, input, p.path+".condition")
	},
	passes:  true,
	guards:  true,
	lenient: true,
	shape:   [2]string{"{", "}"},
	example: "{condition: input.total > 100}",
}
