package definition

import (
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// thenFields are those of the part of a component that a kind runs: a step or an expression.
const thenFields = "expr, input, params, queue, step"

// then reads what a part of a component does into p: {step: …} with the fields of a step, or {expr: …}.
func (r *decoder) then(p *part, path string, v any) {
	object := r.object(path, v, "write {step: task} or {expr: …}")
	if object == nil {
		return
	}
	_, step := object["step"]
	_, evaluates := object["expr"]
	if step == evaluates {
		r.fail(path, "must have a step or an expr", "write {step: task} or {expr: …}, not both")
	}
	for _, name := range sortedKeys(object) {
		at := join(path, name)
		switch {
		case stepKind.fields.has(name), stepKind.own.has(name) && !evaluates:
			stepKind.read(r, p, name, at, object[name])
		case exprKind.fields.has(name):
			exprKind.read(r, p, name, at, object[name])
		case stepKind.own.has(name):
			r.fail(at, "only a step has "+name, "remove it")
		default:
			r.fail(at, "unknown field", policy.Known(name, thenFields))
		}
	}
	if step {
		r.queueOf(p, join(path, "step"))
	}
}

// checkThen checks the expressions of such a part.
func (b *builder) checkThen(p *part, path string, input *expr.Type) {
	at := *p
	at.path = path
	if p.Task != "" {
		stepKind.check(b, &at, input)
		return
	}
	exprKind.check(b, &at, input)
}

// thenPart follows a component's name in the name of the part that does its work, for policies.
const thenPart = "/then"

// Evaluated reports whether the planner itself does the component's work: its runnables are not attempted.
func (c *Component) Evaluated() bool { return kinds[c.Work()].evaluated && c.Task == "" }

// Work is the kind that does a component's work: its own, or that of its part.
func (c *Component) Work() policy.Kind {
	switch {
	case !kinds[c.Kind].parted:
		return c.Kind
	case c.Task != "":
		return policy.KindStep
	default:
		return policy.KindExpr
	}
}
