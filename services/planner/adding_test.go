package planner

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// textOf is a file of the repository.
func textOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A kind has its files, its lines, its part of the schema and of the documents, and an
// example, as docs/adding.md says.
func TestEachKindIsOneThingInOnePlace(t *testing.T) {
	var schema struct {
		Defs struct {
			Component struct {
				OneOf      []struct{ Required []string }
				Properties map[string]any
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(definition.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	reference, component := textOf(t, "docs/definition.md"), schema.Defs.Component
	for _, k := range policy.Kinds() {
		name := k.String()
		if int(k) >= len(kinds) || kinds[k] == nil {
			t.Errorf("%s: the planner has no line for it", name)
		}
		for _, path := range []string{"shared/definition/kind_%s.go", "services/planner/kind_%s.go"} {
			textOf(t, fmt.Sprintf(path, name))
		}
		one, own := definition.Fields(k)
		for _, field := range append(slices.Clone(one), own...) {
			if component.Properties[field] == nil || !strings.Contains(reference, "| `"+field+"` |") {
				t.Errorf("%s: its field %s is not in the schema, or not documented", name, field)
			}
		}
		for _, field := range one {
			if !slices.ContainsFunc(component.OneOf, func(o struct{ Required []string }) bool { return slices.Equal(o.Required, []string{field}) }) {
				t.Errorf("%s: the schema does not want %s, or another", name, field)
			}
		}
		d, err := definition.Parse([]byte("name: d\ncomponents:\n  x: " + definition.Example(k)))
		if err != nil {
			t.Fatalf("%s: its example: %v", name, err)
		}
		if g, err := definition.Compile(d); err != nil || g.Components[0].Kind != k {
			t.Errorf("%s: its example is of another kind: %v", name, err)
		}
	}
}

// A kind sees a workflow through its invocation only.
func TestKindsTouchNoRows(t *testing.T) {
	paths, err := filepath.Glob("kind_*.go")
	if err != nil || len(paths) != len(policy.Kinds()) {
		t.Fatalf("%d files of kinds: %v", len(paths), err)
	}
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "t" {
				t.Errorf("%s reaches through its invocation", path)
			}
			return true
		})
	}
}

// Only the table asks which kind a component is of: everything else asks the kind.
func TestNobodyElseAsksForTheKind(t *testing.T) {
	var names []string
	for _, k := range policy.Kinds() {
		names = append(names, strings.ToUpper(k.String()[:1])+k.String()[1:])
	}
	namesKind := regexp.MustCompile(`policy\.Kind(` + strings.Join(names, "|") + `)\b`)
	for _, root := range []string{"cmd", "internal", "sdk", "services"} {
		err := filepath.WalkDir(filepath.Join("../..", root), func(path string, _ fs.DirEntry, err error) error {
			name := filepath.ToSlash(path)
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "services/planner/kind.go") {
				return err
			}
			src, err := os.ReadFile(path)
			if found := namesKind.Find(src); found != nil {
				t.Errorf("%s asks for %s: give the kind a trait", name, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A command is read, decided and documented; that each has a line in decide.go and a
// check is a matter of the lint.
func TestEachCommandHasItsPlaces(t *testing.T) {
	commands := textOf(t, "docs/kafka.md")
	for _, name := range events.CommandNames() {
		if !strings.Contains(commands, "`"+name+"`") {
			t.Errorf("docs/kafka.md does not have the command %s", name)
		}
	}
}
