package definition

import (
	"github.com/heddle-run/heddle/shared/expr"
)

var conditionKind = kind{
	evaluated: true,
	fields:    properties{{"condition", `{"$ref": "#/$defs/expression", "description": "Where it is true the arriving fact passes."}`}},
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
