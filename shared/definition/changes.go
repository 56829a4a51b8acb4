package definition

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
)

// form is a digest of what a component does: its fields, but for what feeds it, its policy and its body.
type form [sha256.Size]byte

// besides are the fields that are not of the form.
var besides = []string{"after", "catch", "do", "else", "in", "policy", "requires"}

func formOf(object map[string]any) (f form) {
	own := make(map[string]any, len(object))
	for _, field := range sortedKeys(object) {
		if !slices.Contains(besides, field) {
			own[field] = object[field]
		}
	}
	b, err := expr.Append(nil, own)
	if err != nil {
		return form{} // it is part of a definition that was written whole, or is refused
	}
	return sha256.Sum256(b)
}

// SameWork reports whether a component does the same in another graph, whatever feeds it there.
func (g *Graph) SameWork(name string, other *Graph) bool {
	whole, _, _ := strings.Cut(name, "/")
	a, b := g.Lookup(whole), other.Lookup(whole)
	return a != nil && b != nil && a.form == b.form && a.Kind == b.Kind
}

// SameFeeding reports whether a component of both graphs is fed by the same in both.
func (g *Graph) SameFeeding(name string, other *Graph) bool {
	return g.feeding(g.Lookup(name)) == other.feeding(other.Lookup(name))
}

// feeding writes what feeds a component, by names.
func (g *Graph) feeding(c *Component) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %d %t %s", c.Join, c.Count, c.Conditions, c.AnyOf, g.nameOf(c.Within))
	arms := c.Arms
	if c.Each != nil {
		arms = slices.Concat(arms, c.Each.Captures)
	}
	for _, arm := range arms {
		fmt.Fprintf(&b, " %s=%s %t %t", arm.Name, g.nameOf(arm.Component), arm.Optional, arm.Outer)
	}
	return b.String()
}

func (g *Graph) nameOf(component int) string {
	if component < 0 {
		return ""
	}
	return g.Components[component].Name
}

// NamesOf are the names of components.
func (g *Graph) NamesOf(components []int) []string {
	names := make([]string, len(components))
	for i, c := range components {
		names[i] = g.nameOf(c)
	}
	slices.Sort(names)
	return names
}
