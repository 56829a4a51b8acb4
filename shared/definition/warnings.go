package definition

import (
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/policy"
)

// warnings are about what is legal but often a mistake.
func warnings(g *Graph) []Error {
	all := sideBySide(g)
	for _, c := range g.Components {
		all = append(all, unused(c.Rules, c)...)
	}
	return append(append(all, unused(g.Rules, g.Components...)...), unmatched(g)...)
}

// sideBySide is about components that their author may have meant to follow each other.
func sideBySide(g *Graph) []Error {
	if len(g.Roots) < 2 {
		return nil
	}
	names := make([]string, len(g.Roots))
	for i, root := range g.Roots {
		names[i] = g.Components[root].Name
	}
	return []Error{{
		Path:    "components",
		Message: strings.Join(names, ", ") + " have neither after nor in: each is fed by the input, and they run in parallel",
		Fix:     "if one is to follow another, give it after",
	}}
}

// unused is about fields of rules for some components that do nothing as they stand.
func unused(rules []policy.Rule, of ...*Component) (all []Error) {
	retried := slices.ContainsFunc(of, func(c *Component) bool { return retriesOf[c.Task] > 0 })
	for i := range rules {
		if e, is := rules[i].Unused(retried); is {
			all = append(all, e)
		}
	}
	return all
}

// maxMatches bounds how many rules are held against how many components for the sake of warnings.
const maxMatches = 100_000

// unmatched is about rules of the definition that apply to none of its components.
func unmatched(g *Graph) (all []Error) {
	if len(g.Rules)*len(g.Components) > maxMatches {
		return nil
	}
	for i := range g.Rules {
		r := &g.Rules[i]
		switch fits, applies := g.applies(i); {
		case !fits:
			all = append(all, Error{Path: r.Path + ".match", Message: "no component of the definition fits it",
				Fix: "a matcher is the whole text, or a /regular expression/"})
		case !applies:
			all = append(all, Error{Path: r.Path, Message: "never applies: for each component that it fits, a rule before it ends the search",
				Fix: "put it before the others, or give them inherit: true; a component's own policy comes before all of policies"})
		}
	}
	return all
}

// applies reports whether rule i of the definition fits any component, and whether it is asked for one that it fits.
func (g *Graph) applies(i int) (fits, applies bool) {
	for _, c := range g.Components {
		s := c.subject(nil)
		if c.Gone || !g.Rules[i].Fits(s) {
			continue
		}
		if !policy.Ends(c.Rules, s) && !policy.Ends(g.Rules[:i], s) {
			return true, true
		}
		fits = true
	}
	return fits, false
}
