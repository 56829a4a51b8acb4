package planner

import "github.com/heddle-run/heddle/shared/definition"

// ruleKind runs a step or an expression where its condition holds. Named conditions have
// been asked when it arrives (flow).
type ruleKind struct{}

func (ruleKind) traits(c *definition.Component) traits { return kinds[c.Work()].traits(c) }

func (ruleKind) arrive(i invocation) {
	if !i.begun() && i.c.Guard != nil {
		holds, err := i.c.Guard.Holds(i.env())
		switch {
		case err != nil:
			i.fail(err)
			return
		case !holds:
			i.passBy()
			return
		}
	}
	i.work().arrive(i)
}

func (ruleKind) wake(i invocation) { i.work().wake(i) }

func (ruleKind) waitsForTime(c *definition.Component, r *runnable) string {
	return kinds[c.Work()].waitsForTime(c, r)
}
