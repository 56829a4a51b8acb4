package lint

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryPackageHasAPlaceInTheTable(t *testing.T) {
	for _, p := range packages(t) {
		if _, ok := place(p.path()); !ok {
			t.Errorf("%s is in no layer: add it to the table in internal/lint/layers.go", p.path())
		}
	}
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range packages(t) {
		from, _ := place(p.path())
		for _, imp := range p.Imports {
			if !below(imp, module) {
				continue
			}
			to := strings.TrimPrefix(strings.TrimPrefix(imp, module), "/")
			if target, ok := place(to); ok && target.layer > from.layer {
				t.Errorf("%s (%s) imports %s (%s), which stands higher", p.path(), from.about, to, target.about)
			}
		}
	}
}

func TestServicesNeverImportEachOther(t *testing.T) {
	for _, p := range packages(t) {
		from := owner(p.path())
		if from == "" {
			continue
		}
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if to := owner(strings.TrimPrefix(imp, module+"/")); to != "" && to != from {
				t.Errorf("service %s imports %s: services exchange records over Kafka, and nothing else", from, imp)
			}
		}
	}
}

func TestModulesAreImportedOnlyThroughTheirGates(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			for _, g := range gates {
				if below(imp, g.module) && !slices.ContainsFunc(g.only, func(only string) bool { return below(p.path(), only) }) {
					t.Errorf("%s imports %s, which only %v may", p.path(), imp, g.only)
				}
			}
		}
	}
}

func TestSomeThingsAreNeverReached(t *testing.T) {
	for _, p := range packages(t) {
		for _, n := range never {
			if !below(p.path(), n.from) || slices.ContainsFunc(n.but, func(but string) bool { return below(p.path(), but) }) || slices.Contains(allInOne, p.path()) {
				continue
			}
			for _, dep := range p.Deps {
				if slices.ContainsFunc(n.not, func(not string) bool { return below(dep, not) }) {
					t.Errorf("%s reaches %s: %s", p.path(), dep, n.why)
				}
			}
		}
	}
}

func TestTheTableSaysWhatIsHigher(t *testing.T) {
	for path, want := range map[string]layer{
		"":                           shared,
		"shared/events":              shared,
		"shared/events/protogen":     assembly,
		"services/planner":           pure,
		"services/planner/pool":      pure,
		"services/planner/plannerd":  service,
		"services/readiness":         pure,
		"services/gateway/ui":        service,
		"internal/kafka/topics":      shell,
		"internal/broker/brokertest": shell,
		"examples/orders/carrier":    assembly,
		"internal/dev":               assembly,
		"internal/dev/devfile":       shell,
	} {
		if e, ok := place(path); !ok || e.layer != want {
			t.Errorf("%q is in layer %d, want %d", path, e.layer, want)
		}
	}
	for _, path := range []string{"internal/new", "sharedx", "pkg/x"} {
		if e, ok := place(path); ok {
			t.Errorf("%q, which nobody placed, is in %+v", path, e)
		}
	}
}
