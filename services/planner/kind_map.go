package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
)

// mapKind opens a scope for each element of a list, so many at a time, in which its body runs.
type mapKind struct{}

func (mapKind) traits(*definition.Component) traits { return traits{hidden: true} }

func (mapKind) arrive(i invocation) {
	list, err := i.c.Expr.Value(i.env())
	if err != nil {
		i.fail(err)
		return
	}
	i.take(list)
}

func (mapKind) proceed(i invocation) bool {
	f := i.through()
	switch {
	case f.Next < f.Count && f.Open < i.parallel() && i.foldsKeepUp(f.Next):
		i.enter(i.element())
		return true
	case f.Next == f.Count && f.Open == 0:
		i.endMap(mustJSON(map[string]uint64{"elements": f.Count, "failed": f.Failed}))
	}
	return false
}

func (mapKind) wake(i invocation) { panic("a timer for a map, which has none") }

func (mapKind) waitsForTime(_ *definition.Component, r *runnable) string {
	f := r.Fanned
	return fmt.Sprintf("its elements: of %d, %d are done and %d open", f.Count, f.Next-f.Open, f.Open)
}
