package planner

import "github.com/heddle-run/heddle/shared/definition"

// conditionKind passes the arriving fact on where its expression holds, or makes one
// of what a join handed over.
type conditionKind struct{ evaluated }

func (conditionKind) traits(*definition.Component) traits {
	return traits{transient: true, counted: true}
}

func (conditionKind) arrive(i invocation) {
	holds, err := i.c.Expr.Holds(i.env())
	switch {
	case err != nil:
		i.fail(err)
	case !holds:
		i.passBy()
	case i.asFact():
		i.passOn()
	default:
		i.produce(i.value())
	}
}
