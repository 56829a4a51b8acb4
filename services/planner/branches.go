package planner

import (
	"maps"
	"slices"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// branches finds the components that were not taken. No row says that: such a
// component left none, and nothing that is open leads to it any more. Where what a
// component's neighbours left tells neither, it gets no status.
type branches struct {
	*view
	states  map[string]string // of what left a row
	coming  []bool            // by component: something open may still come to it
	silent  []bool            // it may pass on what arrived and leave no row
	came    memo              // something has come to it
	reached memo              // something may have come to it
}

// memo keeps the answers to a question about components: 0 = not asked yet.
type memo []int8

func (m memo) ask(component int, find func() bool) bool {
	if m[component] == 0 {
		m[component] = 1
		if find() {
			m[component] = 2
		}
	}
	return m[component] == 2
}

const (
	stateCompleted  = "completed"
	stateSuppressed = "suppressed"
)

// addBranches adds the components that were not taken to states, and the conditions
// that held.
func (vw *view) addBranches(states map[string]string) {
	if vw.head.NextFact == 0 {
		return
	}
	n := len(vw.graph().Components)
	b := branches{vw, states, make([]bool, n), make([]bool, n), make(memo, n), make(memo, n)}
	for _, c := range vw.graph().Components {
		b.silent[c.Index] = !c.Gone && traitsOf(c).transient && vw.facts.isFact(c)
	}
	for _, o := range vw.graph().Outputs {
		b.silent[o.Component] = false
	}
	b.follow()
	found := map[string]string{}
	for _, c := range vw.graph().Components {
		if c.Gone || b.left(c) || b.coming[c.Index] {
			continue
		}
		if s := b.verdict(c); s != "" {
			found[c.Name] = s
		}
	}
	maps.Copy(states, found)
}

// follow marks what is behind the runnables that may still pass something on.
func (b *branches) follow() {
	type open struct {
		component uint32
		scope     events.ScopeID
	}
	var all []open
	one := true
	rows.Scan(b.tx, rows.Key{Table: rows.Runnable, Workflow: b.id}, func(_ rows.Key, r *runnable) bool {
		if r.Status != runSkipped {
			all = append(all, open{r.Component, r.Scope})
			one = one && r.Scope == all[0].scope
		}
		return true
	})
	for _, o := range all {
		work := []int{int(o.component)}
		for len(work) > 0 {
			c := work[len(work)-1]
			work = work[:len(work)-1]
			for _, e := range b.ahead(uint32(c)) {
				if b.coming[e.Component] || one && b.decided(e.Component, o.scope) {
					continue
				}
				b.coming[e.Component] = true
				work = append(work, e.Component)
			}
		}
	}
}

// ahead are the edges to what may come of a component, in its body too.
func (b *branches) ahead(component uint32) []definition.Edge {
	c := b.component(component)
	if c.Each == nil {
		return c.Children
	}
	return slices.Concat(c.Children, c.Each.Body)
}

// decided reports whether a join has fired or died, whatever else comes to it.
func (b *branches) decided(component int, s events.ScopeID) bool {
	j := b.joins.of(b.component(uint32(component)), s)
	return j != nil && j.Closed
}

// left reports whether a component left a row in any scope.
func (b *branches) left(c *definition.Component) bool {
	_, ok := b.states[c.Name]
	return ok
}

// ran is left, but for what was suppressed.
func (b *branches) ran(component int) bool {
	s, ok := b.states[b.graph().Components[component].Name]
	return ok && s != stateSuppressed
}

// verdict is the status of a component without a row to which nothing can come.
func (b *branches) verdict(c *definition.Component) string {
	switch {
	case !b.silent[c.Index]:
		return definition.NotTaken
	case b.passed(c):
		return stateCompleted
	case b.elseRan(c) || b.wouldShow(c) || !b.mayHaveCome(c):
		return definition.NotTaken
	}
	return ""
}

// hasCome reports whether it is certain that a value came to a component.
func (b *branches) hasCome(c *definition.Component) bool {
	return b.came.ask(c.Index, func() bool {
		return b.ran(c.Index) || b.silent[c.Index] && (b.passed(c) || b.elseRan(c))
	})
}

// passed reports whether something behind a component says that it passed a value on.
func (b *branches) passed(c *definition.Component) bool {
	for _, e := range c.Children {
		child := b.graph().Components[e.Component]
		if e.Else || child.Join == definition.Any || child.Join == definition.Fold || child.Optional(e.Arm) {
			continue // it may have run without this one
		}
		if b.hasCome(child) {
			return true
		}
	}
	return false
}

// elseRan reports whether a component's else had its value.
func (b *branches) elseRan(c *definition.Component) bool {
	for _, e := range c.Children {
		if e.Else && b.hasCome(b.graph().Components[e.Component]) {
			return true
		}
	}
	return false
}

// wouldShow reports whether a component behind this one would have left a row, had
// this one passed a value on.
func (b *branches) wouldShow(c *definition.Component) bool {
	for _, e := range c.Children {
		child := b.graph().Components[e.Component]
		direct := !e.Else && (child.Join == definition.Single || child.Join == definition.Any)
		if direct && child.When == nil && !traitsOf(child).transient && !b.left(child) {
			return true
		}
	}
	return false
}

// mayHaveCome reports whether a value may have come to a component.
func (b *branches) mayHaveCome(c *definition.Component) bool {
	return b.reached.ask(c.Index, func() bool {
		return c.Join == definition.Root || slices.ContainsFunc(c.Arms, func(a definition.Arm) bool {
			parent := b.graph().Components[a.Component]
			if c.Join == definition.Else || b.silent[a.Component] {
				return b.mayHaveCome(parent)
			}
			return b.ran(a.Component)
		})
	})
}
