package workload

// loan is where the number comes from that a component adds.
type loan uint8

const (
	itsOwn    loan = iota // it is written where it is added
	byDefault             // from the context, by the definition's defaults
	byRun                 // likewise, given to the component alone by the start
)

// lent follows from what has been drawn: who lends a number changes nothing of what a workflow comes to.
func (c *Component) lent() loan {
	if c.kind != pure || c.sums != nil || c.looks != nil || c.reacts != nil || c.inner {
		return itsOwn
	}
	switch (c.mul + c.add) % 5 {
	case 0:
		return byDefault
	case 1:
		return byRun
	default:
		return itsOwn
	}
}

// lentKey is the key of the number in the context.
func (c *Component) lentKey() string {
	if c.lent() == byDefault {
		return "add_" + local(c.Name) // all components see it
	}
	return "add"
}

// contextSpec is what the definition says of the context; nil: nothing.
func (g *Graph) contextSpec() map[string]any {
	defaults := map[string]any{}
	for _, c := range g.Components {
		if c.lent() == byDefault {
			defaults[c.lentKey()] = c.add
		}
	}
	if len(defaults) == 0 {
		return nil
	}
	return map[string]any{"defaults": defaults}
}

// Lent is what a start gives to components alone; nil: nothing. Without it the start is refused.
func (g *Graph) Lent() any {
	lent := map[string]any{}
	for _, c := range g.Components {
		if c.lent() == byRun {
			lent[c.Name] = map[string]any{c.lentKey(): c.add}
		}
	}
	if len(lent) == 0 {
		return nil
	}
	return lent
}
