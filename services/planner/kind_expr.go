package planner

// exprKind makes a fact of an expression's value.
type exprKind struct{ evaluated }

func (exprKind) arrive(i invocation) {
	value, err := i.c.Expr.Eval(i.env())
	if err != nil {
		i.fail(err)
		return
	}
	i.produce(value)
}
