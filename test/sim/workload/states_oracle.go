package workload

// tally is what a component that accumulates, or looks at that, made over all inputs.
type tally struct {
	made []any
	used bool // something arrived that it took
}

func (e *Expectation) tally(c *Component) *tally {
	if e.sums[c] == nil {
		e.sums[c] = &tally{}
	}
	return e.sums[c]
}

func (e *Expectation) count(c *Component, y *yielded) {
	t := e.tally(c)
	t.made, t.used = append(t.made, y.facts...), t.used || len(y.facts)+len(y.failed) > 0
}

// states are the states of a component and what came of them, over all inputs.
type states struct {
	used   bool  // something arrived
	facts  []any // in their order, if it is known
	known  bool
	final  int64
	before []int64 // the state before each fact
}

// late works out what comes of states, once it is known what arrived over all inputs.
func (g *Graph) late(e *Expectation, latest map[string][]string) {
	all := make([]states, len(g.Components))
	for i, c := range g.Components {
		switch {
		case c.sums != nil:
			all[i] = c.sum(e.tally(c))
			e.states(c, all[i], latest)
		case c.late:
			all[i] = g.after(c, all[c.arms[0].parent], e)
			e.came(c, all[i].facts, all[i].known, latest)
		case c.looks != nil:
			e.came(c, e.tally(c).made, false, latest)
		}
	}
}

// sum adds up what a component made of what arrived.
func (c *Component) sum(t *tally) states {
	s := states{used: t.used, known: c.counts(), final: c.sums.init}
	for _, v := range t.made {
		s.before = append(s.before, s.final)
		s.final += v.(int64)
		s.facts = append(s.facts, s.final)
	}
	return s
}

// after is what comes of states, or of what came of them.
func (g *Graph) after(c *Component, of states, e *Expectation) states {
	s := states{known: of.known}
	for i, v := range of.facts {
		if c.reacts != nil && !c.reacts.fires(of.before[i], v.(int64)) {
			continue
		}
		var y yielded
		(&place{g: g, e: e}).activate(c, v, &y)
		s.facts = append(s.facts, y.facts...)
	}
	return s
}

// states notes the states that a component must come to.
func (e *Expectation) states(c *Component, s states, latest map[string][]string) {
	if !s.used {
		return
	}
	e.came(c, append([]any{c.sums.init}, s.facts...), s.known, latest)
	latest[c.Name] = []string{text(s.final)}
}

// came notes what comes of a component: the facts, or how many there are.
func (e *Expectation) came(c *Component, facts []any, known bool, latest map[string][]string) {
	if !known && len(facts) > 0 {
		delete(e.Productions, c.Name)
		e.numbers[c.Name] = len(facts)
		latest[c.Name] = nil
		return
	}
	for _, v := range facts {
		latest[c.Name] = append(latest[c.Name], text(v))
		e.Productions[c.Name] = append(e.Productions[c.Name], text(v))
	}
}
