package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	lawCode    = regexp.MustCompile(`\b[JECO][1-9]\b`)
	lawSection = regexp.MustCompile(`(?m)^### ([JECO][1-9]) `)
	lawPlace   = regexp.MustCompile("`([a-z]+/[A-Za-z0-9_./-]+)`")
)

// overviews may name any law: they tell how the partition's loop runs as a whole.
var overviews = []string{"internal/partition/doc.go", "internal/partition/loop/doc.go"}

// lawPlaces are the files and directories that docs/protocol.md names for each law.
func lawPlaces(t *testing.T) map[string][]string {
	t.Helper()
	places := map[string][]string{}
	for _, section := range strings.Split(documents(t)["docs/protocol.md"], "\n##") {
		m := lawSection.FindStringSubmatch("##" + section)
		if m == nil {
			continue
		}
		_, code, _ := strings.Cut(section, "*Code*:")
		for _, p := range lawPlace.FindAllStringSubmatch(code, -1) {
			places[m[1]] = append(places[m[1]], p[1])
		}
		if places[m[1]] == nil {
			t.Errorf("docs/protocol.md names no code of law %s", m[1])
		}
	}
	if len(places) == 0 {
		t.Fatal("no laws found")
	}
	return places
}

// programs are all files that are no tests and not of test/, whatever their build tags.
func programs(t *testing.T) []*source {
	t.Helper()
	var all []*source
	fset := token.NewFileSet()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, "../../")
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "test" || d.Name() == "testdata" || strings.HasPrefix(name, ".git")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		all = append(all, &source{name, fset, f})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A law's code stands where the law is kept, and nowhere else in the programs: there
// it leads to the reason, elsewhere it would be a riddle.
func TestLawsAreNamedWhereTheyAreKept(t *testing.T) {
	places := lawPlaces(t)
	kept := map[string]bool{}
	for _, f := range programs(t) {
		if slices.Contains(overviews, f.name) {
			continue
		}
		for _, c := range comments(f.file) {
			for _, law := range lawCode.FindAllString(c.Text, -1) {
				if !slices.ContainsFunc(places[law], func(p string) bool { return below(f.name, p) }) {
					t.Errorf("%s: docs/protocol.md does not name this file for law %s: say what is meant instead", f.at(c), law)
				}
				kept[law] = true
			}
		}
	}
	for law := range places {
		if !kept[law] {
			t.Errorf("no code that docs/protocol.md names for law %s has it in a comment", law)
		}
	}
}

// A message, and what documents an exported name, are clear without docs/protocol.md.
func TestNoLawIsNamedInMessagesOrExportedDocs(t *testing.T) {
	for _, f := range programs(t) {
		if slices.Contains(overviews, f.name) {
			continue
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING && lawCode.MatchString(s.Value) {
				t.Errorf("%s: a text names a law: say what is meant instead", f.at(s))
			}
			return true
		})
		ast.FileExports(f.file)
		ast.Inspect(f.file, func(n ast.Node) bool {
			if c, ok := n.(*ast.Comment); ok && lawCode.MatchString(c.Text) {
				t.Errorf("%s: what documents an exported name names a law: say what is meant instead", f.at(c))
			}
			return true
		})
	}
}

func comments(f *ast.File) []*ast.Comment {
	var all []*ast.Comment
	for _, g := range f.Comments {
		all = append(all, g.List...)
	}
	return all
}
