package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// refusers are the packages that refuse for a planner.
var refusers = []string{"shared/events", "services/planner", "internal/partition", "internal/runtime"}

// codeAt is which argument of a function is a refusal's code.
var codeAt = map[string]int{"refuse": 0, "refuseAt": 0, "refusal": 1}

// The simulation counts refusals and takes the table for whole.
func TestRefusalCodesAreInTheTable(t *testing.T) {
	table, spelled := events.RefusalCodes(), map[string]bool{}
	if !slices.IsSorted(table) {
		t.Error("the table is not sorted")
	}
	for _, p := range packages(t) {
		if !slices.ContainsFunc(refusers, func(s string) bool { return below(p.path(), s) }) {
			continue
		}
		for _, f := range sources(t, p, false) {
			ast.Inspect(f.file, func(n ast.Node) bool {
				lit := codeOf(n)
				if lit == nil {
					return true
				}
				code := literal(lit)
				if spelled[code] = true; !slices.Contains(table, code) {
					t.Errorf("%s: the refusal %q is not in the table of package events", f.at(n), code)
				}
				return true
			})
		}
	}
	for _, code := range table {
		if !spelled[code] {
			t.Errorf("nothing is refused with %q", code)
		}
	}
}

// codeOf is the code that a node spells, or nil.
func codeOf(n ast.Node) *ast.BasicLit {
	var code ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		if i, ok := codeAt[lastName(n.Fun)]; ok && i < len(n.Args) {
			code = n.Args[i]
		}
	case *ast.CompositeLit:
		switch lastName(n.Type) {
		case "CommandError", "Refusal", "CommandRefused":
			code = codeField(n.Elts)
		}
	case *ast.AssignStmt: // r.Code = "…"
		if len(n.Lhs) == 1 && lastName(n.Lhs[0]) == "Code" {
			code = n.Rhs[0]
		}
	}
	if lit, ok := code.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		return lit
	}
	return nil
}

// codeField is the field Code, which is the first one where none is named.
func codeField(fields []ast.Expr) ast.Expr {
	for i, e := range fields {
		kv, named := e.(*ast.KeyValueExpr)
		if !named && i == 0 {
			return e
		}
		if named && lastName(kv.Key) == "Code" {
			return kv.Value
		}
	}
	return nil
}

// lastName is the name of an identifier or of what a selector selects.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
