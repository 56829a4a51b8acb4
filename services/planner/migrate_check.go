package planner

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// mostLooked is how many rows of a run a migration looks at: more would take too long for one
// decision, and then it is refused.
const mostLooked = 20_000

// migration compares the definition that a run has with another one. What has left a trace in an
// input that is open must be able to go on; what has not happened there may be anything.
type migration struct {
	*turn
	to     *definition.Graph
	why    reasons
	looked int

	reached []bool // by component: something of it is open, or has come, in an open input
	yielded []bool // its value, or that there is none, has gone to its children in an open input
	work    []bool // what it does must stay: it is in the middle of it
	newest  map[uint32]events.FactID
}

// fitsInto says why the run cannot go on with a graph, which has the numbers of its own; and
// which facts results show then, and what its context gets.
func (t *turn) fitsInto(to *definition.Graph) (newest []events.NewestFact, defaults json.RawMessage, why reasons) {
	n := len(t.graph().Components)
	m := migration{turn: t, to: to, reached: make([]bool, n), yielded: make([]bool, n), work: make([]bool, n), newest: map[uint32]events.FactID{}}
	m.traces()
	m.results()
	m.given()
	if m.looked > mostLooked { // something was not looked at
		return nil, nil, reasons{fmt.Sprintf("more than %d facts, runnables and inputs would have to be looked at; it can be migrated when inputs have settled", mostLooked)}
	}
	m.remembered()
	defaults = m.lacking()
	if m.inputsOpen() {
		m.spread()
		m.compare()
		m.added()
	}
	for _, o := range to.Outputs {
		c := uint32(o.Component)
		if f := m.newest[c]; f != 0 {
			newest = append(newest, events.NewestFact{Component: c, Fact: f})
			delete(m.newest, c) // an output may have several names
		}
	}
	slices.Sort(m.why)
	return newest, defaults, slices.Compact(m.why)
}

// inputsOpen reports whether an input has not settled.
func (m *migration) inputsOpen() bool { return m.firstOpen() != 0 }

// firstOpen is the oldest input that has not settled; 0: all have.
func (m *migration) firstOpen() (first events.ScopeID) {
	for _, o := range m.head.Scopes {
		if first == 0 || o.Scope < first {
			first = o.Scope
		}
	}
	rows.Scan(m.tx, rows.Key{Table: rows.Scope, Workflow: m.id}, func(k rows.Key, s *scope) bool {
		if s.Outer != 0 {
			return true
		}
		if first == 0 || events.ScopeID(k.A) < first {
			first = events.ScopeID(k.A)
		}
		return false
	})
	return first
}

// open reports whether a scope is of an input that has not settled.
func (m *migration) open(s events.ScopeID) bool {
	root := m.facts.root(s)
	return m.head.scope(root) >= 0 || rows.Get[scope](m.tx, scopeKey(m.id, root)) != nil
}

// look counts a row; false: there are too many.
func (m *migration) look() bool {
	m.looked++
	return m.looked <= mostLooked
}

// traces finds what the rows of open inputs tell of components.
func (m *migration) traces() {
	first := m.firstOpen()
	if first == 0 {
		return
	}
	m.facts.each(first, func(_ events.FactID, f *fact) bool {
		if f.Component > 0 && m.open(f.Scope) {
			m.reached[f.Component-1], m.yielded[f.Component-1] = true, true
		}
		return m.look()
	})
	rows.Scan(m.tx, rows.Key{Table: rows.Suppressed, Workflow: m.id}, func(_ rows.Key, s *suppression) bool {
		if m.open(s.Scope) {
			m.reached[s.Component], m.yielded[s.Component] = true, true
		}
		return m.look()
	})
	rows.Scan(m.tx, rows.Key{Table: rows.Runnable, Workflow: m.id}, func(_ rows.Key, r *runnable) bool {
		if r.Status.open() || r.Status == runFailed || m.open(r.Scope) {
			m.runnable(r)
		}
		return m.look()
	})
	rows.Scan(m.tx, rows.Key{Table: rows.Join, Workflow: m.id}, func(k rows.Key, _ *join) bool {
		m.reached[k.B] = true
		return m.look()
	})
	rows.Scan(m.tx, rows.Key{Table: rows.Fold, Workflow: m.id}, func(k rows.Key, _ *fold) bool {
		m.reached[k.B], m.work[k.B] = true, true
		return m.look()
	})
}

// runnable notes what a runnable that has not completed wants of its component.
func (m *migration) runnable(r *runnable) {
	c := r.Component
	m.reached[c] = true
	switch {
	case r.Status == runSkipped || r.Status == runCancelled:
		m.yielded[c] = true
	case r.Doubt != nil || r.Fell != 0 || r.For != events.ForResult: // its outcome may still come, or something else takes its place
		m.work[c] = true
	case r.Status == runActive, r.Fanned != nil, r.Wait != nil, m.component(c).Fold != nil:
		m.work[c] = true
	case r.Status == runWaiting && r.Attempt == 0 && r.Permit == nil && m.component(c).Accumulate == nil: // for its own time
		m.work[c] = true
	}
}

// spread follows what leaves no row: a component may have passed on what came to it, or not have
// been taken, as soon as its parents have yielded.
func (m *migration) spread() {
	g := m.graph()
	for _, root := range g.Roots {
		m.reached[root] = true
	}
	for again := true; again; {
		again = false
		for _, c := range g.Components {
			if c.Gone {
				continue
			}
			reached := m.reached[c.Index] || slices.ContainsFunc(c.Arms, func(a definition.Arm) bool { return m.yielded[a.Component] })
			reached = reached || c.Within >= 0 && m.reached[c.Within]
			yielded := m.yielded[c.Index] || reached && (c.Guarded() || traitsOf(c).transient || c.Within >= 0)
			again = again || reached != m.reached[c.Index] || yielded != m.yielded[c.Index]
			m.reached[c.Index], m.yielded[c.Index] = reached, yielded
		}
	}
}

// compare holds each component that something has come to against what it is to be.
func (m *migration) compare() {
	g := m.graph()
	for _, c := range g.Components {
		if c.Gone || !m.reached[c.Index] {
			continue
		}
		now := m.to.Lookup(c.Name)
		switch {
		case now == nil:
			m.why.add(c.Name, "it is gone, and something has come to it in an input that has not settled")
		case now.Kind != c.Kind:
			m.why.add(c.Name, fmt.Sprintf("it was of the kind %s, and something has come to it in an input that has not settled", c.Kind))
		case !g.SameFeeding(c.Name, m.to):
			m.why.add(c.Name, "something else feeds it, and something has come to it in an input that has not settled")
		case !slices.Equal(g.NamesOf(c.Races), m.to.NamesOf(now.Races)):
			m.why.add(c.Name, "other races can make it pointless, and something has come to it in an input that has not settled")
		case m.work[c.Index] && !g.SameWork(c.Name, m.to):
			m.why.add(c.Name, "it is in the middle of what it does, which is something else there")
		}
	}
	if !slices.Equal(g.NamesOf(g.Watched), m.to.NamesOf(m.to.Watched)) {
		m.why.add("states", "expressions look at the states of other components, and inputs have not settled")
	}
}

// added refuses components that would wait for ever: of their arms one has come already, as it was
// before there was this component, and another has not.
func (m *migration) added() {
	stale := m.stale()
	for _, c := range m.to.Components {
		if m.known(c) && m.reached[c.Index] {
			continue
		}
		if c.Within >= 0 && m.known(m.to.Components[c.Within]) && m.reached[c.Within] {
			m.why.add(c.Name, "it is new in the body of a map that something has come to in an input that has not settled")
			continue
		}
		come, arms := 0, 0
		for _, a := range m.arms(c) {
			arms++
			if stale[a.Component] {
				come++
			}
		}
		switch {
		case come == 0:
		case m.known(c):
			m.why.add(c.Name, "what feeds it there has come already in an input that has not settled")
		case come < arms:
			m.why.add(c.Name, "of what feeds it some has come already in an input that has not settled, so it would wait for ever")
		}
	}
}

// arms are those of a component, with what its body takes from outside.
func (m *migration) arms(c *definition.Component) []definition.Arm {
	if c.Each == nil {
		return c.Arms
	}
	return slices.Concat(c.Arms, c.Each.Captures)
}

// known reports whether a component has had its number before.
func (m *migration) known(c *definition.Component) bool {
	return !c.Gone && c.Index < len(m.reached) && !m.graph().Components[c.Index].Gone
}

// stale finds the components of the new graph whose values new children would not get in inputs
// that are open: they have come, or will not.
func (m *migration) stale() []bool {
	stale := make([]bool, len(m.to.Components))
	for _, c := range m.to.Components {
		stale[c.Index] = m.known(c) && m.yielded[c.Index] || !m.known(c) && c.Join == definition.Root
	}
	for again := true; again; {
		again = false
		for _, c := range m.to.Components {
			if !m.known(c) && !stale[c.Index] && slices.ContainsFunc(m.arms(c), func(a definition.Arm) bool { return stale[a.Component] }) {
				stale[c.Index], again = true, true
			}
		}
	}
	return stale
}

// remembered refuses to lose what outlives an input: states, and signals that nobody has taken.
func (m *migration) remembered() {
	for _, c := range m.graph().Components {
		if c.Accumulate == nil || rows.Get[state](m.tx, stateKey(m.id, uint32(c.Index))) == nil {
			continue
		}
		if now := m.to.Lookup(c.Name); now == nil || now.Kind != c.Kind {
			m.why.add(c.Name, fmt.Sprintf("it has a state, and is no %s there", c.Kind))
		}
	}
	for n := range m.graph().Signals {
		name := m.graph().Signals[n].Name
		if _, awaited := m.to.SignalNamed(name); awaited {
			continue
		}
		rows.Scan(m.tx, rows.Key{Table: rows.Match, Workflow: m.id, A: uint64(n), B: uint64(kept)}, func(k rows.Key, _ *present) bool {
			if k.A == uint64(n) && k.B == uint64(kept) {
				m.why.add("signal "+name, "such signals are kept, and no component waits for them there")
			}
			return false
		})
	}
}

// given checks the rules that were given with the workflow and its open inputs.
func (m *migration) given() {
	check := func(raw []byte, whose string) {
		if err := m.to.CheckRules(m.p.parsedRules(raw)); err != nil {
			m.why.add(whose, err.Error())
		}
	}
	check(m.setup().Policies, "policies of the workflow")
	rows.Scan(m.tx, rows.Key{Table: rows.Scope, Workflow: m.id}, func(k rows.Key, s *scope) bool {
		if len(s.Policies) > 0 {
			check(s.Policies, "policies of the input "+events.FactID(k.A).String())
		}
		return m.look()
	})
}

// results finds the newest facts of what results are to show: those of components that they show
// already, and by looking at all facts, others.
func (m *migration) results() {
	search := map[uint32]bool{}
	for _, o := range m.to.Outputs {
		c := m.to.Components[o.Component]
		switch {
		case !m.known(c):
		case m.outputs.has(m.graph().Components[c.Index]):
			m.newest[uint32(c.Index)] = m.outputs.newest(c.Index)
		default:
			search[uint32(c.Index)] = true
		}
	}
	if len(search) == 0 {
		return
	}
	m.facts.each(0, func(id events.FactID, f *fact) bool {
		if f.Component > 0 && search[f.Component-1] && !f.Failure && !f.Partial {
			m.newest[f.Component-1] = id
		}
		return m.look()
	})
}
