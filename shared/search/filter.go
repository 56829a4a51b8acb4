// Package search is the language by which workflows are looked for. A filter is parameters
// of a request, a text (--where on the command line), or a struct, and means the same.
package search

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Filter chooses workflows: all that each of its fields fits. A zero field fits all.
type Filter struct {
	Status     string
	Definition string            // a name, name@version or digest
	Labels     map[string]string // by name; what is no text is compared as JSON
	Error      string            // the type of a failure
	Component  string            // the component of a failure, of the same one where Error is given too
	Text       string            // words that all occur, whatever their case, in the texts of the workflow

	CreatedAfter, CreatedBefore time.Time
	UpdatedAfter, UpdatedBefore time.Time
}

// Term is one condition of a filter: the name of a field, or label.NAME, and its value.
type Term struct{ Name, Value string }

// String is the term as ParseWhere reads it.
func (t Term) String() string {
	name, value := t.Name, t.Value
	if strings.ContainsFunc(name, func(r rune) bool { return r == '=' || quoted(r) }) {
		name = quote(name)
	}
	if value == "" || strings.ContainsFunc(value, quoted) {
		value = quote(value)
	}
	return name + "=" + value
}

// Terms are the conditions of the filter, in one order.
func (f Filter) Terms() []Term {
	var all []Term
	for _, fd := range fields {
		if v := fd.get(&f); v != "" {
			all = append(all, Term{fd.name, v})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Labels)) {
		all = append(all, Term{labelPrefix + name, f.Labels[name]})
	}
	return all
}

// String is the filter as ParseWhere reads it; empty for one that chooses all.
func (f Filter) String() string {
	var parts []string
	for _, t := range f.Terms() {
		parts = append(parts, t.String())
	}
	return strings.Join(parts, " ")
}

// IsZero reports whether the filter chooses all.
func (f Filter) IsZero() bool { return len(f.Terms()) == 0 }

const labelPrefix = "label."
