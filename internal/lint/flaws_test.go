package lint

import (
	"go/ast"
	"os/exec"
	"strings"
	"testing"
)

// Flaws break the protocol on purpose; nothing that people run may set one, and what
// they run has none: code with a flaw asks On, which is constant there.
func TestFlawsAreOfTestsOnly(t *testing.T) {
	for _, p := range packages(t) {
		if below(p.path(), "internal/partition") || below(p.path(), "internal/faults") || below(p.path(), "services/planner/pool") || below(p.path(), "test/sim") {
			continue
		}
		for _, f := range sources(t, p, false) {
			ast.Inspect(f.file, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && (id.Name == "Flaws" || id.Name == "KilledBy") {
					t.Errorf("%s: flaws and kills are for tests and the simulation", f.at(n))
				}
				return true
			})
		}
	}
}

func TestFlawsAreAskedOn(t *testing.T) {
	for _, p := range packages(t) {
		if !below(p.path(), "internal/partition") {
			continue
		}
		for _, f := range sources(t, p, false) {
			asked := map[ast.Node]bool{}
			ast.Inspect(f.file, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if s.Sel.Name == "On" {
					asked[s.X] = true
				}
				if from, ok := s.X.(*ast.SelectorExpr); ok && from.Sel.Name == "Flaws" && !asked[s] {
					t.Errorf("%s: ask Flaws.%s.On(): it is constant in a program without faults", f.at(n), s.Sel.Name)
				}
				return true
			})
		}
	}
}

// A program that is built without a tag has no switches that break it.
func TestADefaultBuildHasNoFaults(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{join .GoFiles \" \"}}", module+"/internal/faults").Output()
	if err != nil {
		t.Fatal(err)
	}
	if files := strings.TrimSpace(string(out)); files != "doc.go killed.go off.go" {
		t.Errorf("it is built of %s", files)
	}
}
