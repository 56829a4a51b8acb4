package definition

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Numbering is the order in which components, and names of signals, are numbered: rows and events
// have their numbers. Without one it is that of their names, and depends on the definition alone.
type Numbering struct {
	Components []string
	Signals    []string
}

// Numbering is how a graph's components and signals are numbered.
func (g *Graph) Numbering() Numbering {
	n := Numbering{Components: make([]string, len(g.Components)), Signals: make([]string, len(g.Signals))}
	for i, c := range g.Components {
		n.Components[i] = c.Name
	}
	for i := range g.Signals {
		n.Signals[i] = g.Signals[i].Name
	}
	return n
}

// Missing are the names of a graph that have no number yet, in order.
func (n Numbering) Missing(g *Graph) Numbering {
	all := g.Numbering()
	return Numbering{Components: without(all.Components, n.Components), Signals: without(all.Signals, n.Signals)}
}

// With is n with more names, which get the numbers behind its own.
func (n Numbering) With(more Numbering) Numbering {
	return Numbering{Components: slices.Concat(n.Components, more.Components), Signals: slices.Concat(n.Signals, more.Signals)}
}

// Key is a digest of the numbering.
func (n Numbering) Key() string {
	sum := sha256.Sum256([]byte(strings.Join(n.Components, "\n") + "\n\n" + strings.Join(n.Signals, "\n")))
	return hex.EncodeToString(sum[:])
}

func without(names, known []string) (rest []string) {
	has := make(map[string]bool, len(known))
	for _, name := range known {
		has[name] = true
	}
	for _, name := range names {
		if !has[name] {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return rest
}

// number orders the components by a numbering. Names that the definition does not have keep their
// number: a component stands there that nothing leads to.
func (s *spec) number(names []string) {
	if len(names) == 0 {
		return
	}
	have := make(map[string]*part, len(s.components))
	for _, p := range s.components {
		have[p.Name] = p
	}
	all := make([]*part, 0, len(names))
	for _, name := range names {
		p := have[name]
		if p == nil {
			p = &part{Component: Component{Name: name, Gone: true, Join: Part}}
		}
		delete(have, name)
		all = append(all, p)
	}
	for _, p := range s.components {
		if have[p.Name] != nil {
			all = append(all, p)
		}
	}
	s.components = all
}
