package lint

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// cases are the cases of authority, backlog, replay, deferral, classification and persistence that a test is named by: its function, or a
// subtest of it.
var cases = strings.Fields(`
	BL01 BL03 BL05 BL06 BL07 BL10 BL12 BL13 BL18 BL19 DF02 DF03 DF05 DF07 PS07 PS09 PS10 PS11
	AU02 AU04 AU05 AU06 AU07 AU08 AU09 AU12 AU13 AU14 AU16 AU17 AU18 AU19 AU22 AU23
	RP01 RP02 RP04 RP05 RP06 RP07 RP10
	CL02 CL03 CL06 CL07 CL11 CL12 CL17
	PS01 PS02 PS03 PS04 PS12 PS13 PS16 PS17`)

var caseID = regexp.MustCompile(`(AU|BL|RP|DF|CL|PS)[0-9]{2}`)

func TestEachCaseHasATest(t *testing.T) {
	named := map[string]bool{}
	name := func(text string) {
		for _, id := range caseID.FindAllString(text, -1) {
			named[id] = true
		}
	}
	for _, p := range packages(t) {
		if p.path() == "internal/lint" {
			continue
		}
		for _, f := range sources(t, p, true) {
			if !strings.HasSuffix(f.name, "_test.go") {
				continue
			}
			ast.Inspect(f.file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if strings.HasPrefix(n.Name.Name, "Test") {
						name(n.Name.Name)
					}
				case *ast.BasicLit:
					name(literal(n))
				}
				return true
			})
		}
	}
	for _, id := range cases {
		if !named[id] {
			t.Errorf("no test is named by %s", id)
		}
	}
}
