package definition

import (
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

var exprKind = kind{
	name:      policy.KindExpr,
	evaluated: true,
	fields:    []string{"expr"},
	read: func(r *decoder, p *part, _, path string, v any) {
		p.Expr = r.program(path, v, expr.Compile)
	},
	check: func(b *builder, p *part, input *expr.Type) {
		b.check(p.Expr, input, p.path+".expr")
	},
	shape:   [2]string{"[/", "/]"},
	example: "{expr: input.total * 2}",
}
