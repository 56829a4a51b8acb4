package lint

import (
	"go/ast"
	"testing"
)

// Flaws break the protocol on purpose; nothing that people run may set one.
func TestFlawsAreOfTestsOnly(t *testing.T) {
	for _, p := range packages(t) {
		if below(p.path(), "internal/partition") || below(p.path(), "test/sim") {
			continue
		}
		for _, f := range sources(t, p, false) {
			ast.Inspect(f.file, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && id.Name == "Flaws" {
					t.Errorf("%s: flaws are for tests and the simulation", f.at(n))
				}
				return true
			})
		}
	}
}
