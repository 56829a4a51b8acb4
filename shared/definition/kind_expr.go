package definition

import (
	"github.com/heddle-run/heddle/shared/expr"
)

var exprKind = kind{
	evaluated: true,
	fields:    properties{{"expr", `{"$ref": "#/$defs/expression", "description": "Its value is the fact."}`}},
	read: func(r *decoder, p *part, _, path string, v any) {
		p.Expr = r.program(path, v, expr.Compile)
	},
	check: func(b *builder, p *part, input *expr.Type) {
		b.check(p.Expr, input, p.path+".expr")
	},
	shape:   [2]string{"[/", "/]"},
	example: "{expr: input.total * 2}",
}
