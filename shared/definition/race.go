package definition

import "fmt"

// counted checks how many arms of a first must arrive.
func (b *builder) counted(p *part) {
	if p.Join != First {
		return
	}
	if p.Count = p.count; p.countPath != "" && p.Count > len(p.arms) {
		b.fail(p.countPath, fmt.Sprintf("%d of %d can never arrive", p.Count, len(p.arms)), "count what must come, at most all")
	}
}

// races finds what each First makes pointless when it has fired: components that lead nowhere but to it, and are no
// outputs. A component may be in several races: it is pointless as soon as one of them is over. The body of a map is
// in the races of the map.
func (b *builder) races() {
	g := b.graph
	shown := make([]bool, len(g.Components))
	for _, o := range g.Outputs {
		shown[o.Component] = true
	}
	for _, f := range g.Components {
		if f.Join != First {
			continue
		}
		only := map[int]bool{f.Index: true}
		for i := len(b.order) - 1; i >= 0; i-- { // children before parents
			c := g.Components[b.order[i]]
			if c == f || c.Within != f.Within || shown[c.Index] || len(c.Children) == 0 || !leadsOnlyTo(c, only) {
				continue
			}
			only[c.Index] = true
			c.Races = append(c.Races, f.Index)
		}
	}
	for _, i := range b.order { // maps before their bodies
		if c := g.Components[i]; c.Within >= 0 {
			c.Races = append(c.Races, g.Components[c.Within].Races...)
		}
	}
	for _, c := range g.Components {
		for _, f := range c.Races {
			g.Components[f].Race = append(g.Components[f].Race, c.Index)
		}
	}
}

func leadsOnlyTo(c *Component, only map[int]bool) bool {
	for _, e := range c.Children {
		if !only[e.Component] {
			return false
		}
	}
	return true
}
