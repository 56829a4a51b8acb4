package lint

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// dispatches are the places where each member of a closed set must have its
// case: an event that no apply knows would be lost at every replay.
var dispatches = []struct {
	set    string   // the method that its members have
	in     []string // packages, or files, with the switches
	except []string // members that are dealt with elsewhere, with the place behind a colon
}{
	{"number", []string{"services/planner/evolve.go", "services/planner/limits", "services/planner/notice", "services/planner/pool", "internal/partition"}, nil},
	{"check", []string{"services/planner/decide.go"}, []string{
		"ReleasePartition: internal/partition", "MarkPartitionStale: internal/partition", "ReplayPartition: internal/partition", "AcceptLoss: internal/partition",
		"RemoveDispatch: internal/partition", "StopRunner: services/planner/pool",
	}},
	{"check", []string{"services/planner/decide.go", "internal/partition", "services/planner/pool"}, nil},
}

func TestClosedSetsAreDispatchedWhole(t *testing.T) {
	for _, d := range dispatches {
		members := membersOf(t, d.set)
		if len(members) < 10 {
			t.Fatalf("the set with the method %s has only %v", d.set, members)
		}
		have := casesIn(t, d.in)
		for _, m := range members {
			elsewhere := slices.ContainsFunc(d.except, func(e string) bool { return strings.HasPrefix(e, m+": ") })
			if !have[m] && !elsewhere {
				t.Errorf("%v have no case for events.%s", d.in, m)
			}
		}
	}
}

// membersOf are the types of package events that have an unexported method of
// this name: what seals their set.
func membersOf(t *testing.T, method string) []string {
	t.Helper()
	var members []string
	for _, p := range packages(t) {
		if p.path() != "shared/events" {
			continue
		}
		for _, f := range sources(t, p, false) {
			for _, d := range f.file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == method {
					members = append(members, receiver(fn))
				}
			}
		}
	}
	return members
}

// casesIn are the types of package events that stand in a case of a type switch
// in one of the places.
func casesIn(t *testing.T, places []string) map[string]bool {
	t.Helper()
	have := map[string]bool{}
	for _, p := range packages(t) {
		for _, f := range sources(t, p, false) {
			if !slices.ContainsFunc(places, func(place string) bool { return below(f.name, place) }) {
				continue
			}
			ast.Inspect(f.file, func(n ast.Node) bool {
				if c, ok := n.(*ast.CaseClause); ok {
					for _, e := range c.List {
						addCase(have, e)
					}
				}
				return true
			})
		}
	}
	return have
}

func addCase(have map[string]bool, e ast.Expr) {
	if star, ok := e.(*ast.StarExpr); ok {
		if sel, ok := star.X.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "events" {
				have[sel.Sel.Name] = true
			}
		}
	}
}
