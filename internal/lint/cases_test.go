package lint

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// cases are the cases of authority, backlog, replay, deferral, classification and persistence that a test is named by: its function, or a
// subtest of it, and those of runners, which a suite of internal/conformance may play, too. R02, a wait that begins anew behind a success, is not
// among them: a step that has succeeded is over.
var cases = strings.Fields(`
	C01 C02 C03 C04 C05 C09 C10 C11 C12 P01 P03 M01 M02 M03 M04 M06 M09 E02 E03 E04 E05 E06 E08 E09 E10 K02 K03 K05 K06
	L01 L02 L03 L05 L07 L11 A03 A04 A05 D01 D05 D06 D07 D08 D10 D11 D12 R01 R03 R05
	BL01 BL03 BL05 BL06 BL07 BL10 BL12 BL13 BL18 BL19 DF02 DF03 DF05 DF07 PS07 PS09 PS10 PS11
	AU02 AU04 AU05 AU06 AU07 AU08 AU09 AU12 AU13 AU14 AU16 AU17 AU18 AU19 AU22 AU23
	RP01 RP02 RP04 RP05 RP06 RP07 RP10
	CL02 CL03 CL06 CL07 CL11 CL12 CL17
	PS01 PS02 PS03 PS04 PS12 PS13 PS16 PS17`)

var caseID = regexp.MustCompile(`(AU|BL|RP|DF|CL|PS)[0-9]{2}|(^|Test)[CPMEKLADR][0-9]{2}`)

func TestEachCaseHasATest(t *testing.T) {
	named := map[string]bool{}
	name := func(text string) {
		for _, id := range caseID.FindAllString(text, -1) {
			named[strings.TrimPrefix(id, "Test")] = true
		}
	}
	for _, p := range packages(t) {
		if p.path() == "internal/lint" {
			continue
		}
		for _, f := range sources(t, p, true) {
			if !strings.HasSuffix(f.name, "_test.go") && p.path() != "internal/conformance" {
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
