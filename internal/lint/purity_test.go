package lint

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// impure are the packages of the standard library that pure packages do not
// import: I/O, randomness, concurrency, loggers.
var impure = []string{
	"context", "crypto/rand", "database", "io/ioutil", "log", "math/rand", "net", "os", "runtime", "sync", "syscall", "testing/synctest", "unsafe",
}

// parsers are packages below impure ones that do no I/O.
var parsers = []string{"net/url", "net/netip"}

// impureCalls are functions of packages that are pure otherwise.
var impureCalls = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer", "Sleep", "Local", "LoadLocation"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// excepted are imports that the rule forbids and that are pure as they are used.
var excepted = map[string]map[string]string{
	"shared/definition":    {"sync": "compiles embedded schemas once; what is computed depends on nothing else"},
	"shared/wire":          {"sync": "a pool of codecs; what one held is overwritten"},
	"shared/expr":          {"sync": "a cache of compiled expressions; a hit and a miss give the same"},
	"shared/wire/wiretest": {"runtime/metrics": "for tests alone: how much they allocate"},
	"internal/partition/loop": {
		"log/slog":                         "tells of what it meets; nothing is decided by it",
		"runtime/debug":                    "the stack of a contained panic, for the log",
		"sync/atomic":                      "counters that others read",
		"github.com/twmb/franz-go/pkg/kgo": "the type of a record",
	},
}

// isDeterministic reports whether a package is held to the rules of pure ones, though its
// layer may be a higher one for what it imports of ours.
func isDeterministic(path string) bool { return isPure(path) || path == "internal/partition/loop" }

// checked is a pure package with its types.
type checked struct {
	*listed
	files []*source
	info  *types.Info
}

// typed loads the pure packages' non-test files with their types, from the
// export data that the go command already has in its cache.
func typed(t *testing.T) []*checked {
	t.Helper()
	args := []string{"-export", "-deps", "-json=ImportPath,Dir,GoFiles,Imports,Export"}
	for _, p := range packages(t) {
		if isDeterministic(p.path()) {
			args = append(args, p.ImportPath)
		}
	}
	all, err := goList(args...)
	if err != nil {
		t.Fatalf("listing packages with their exports: %v", err)
	}
	exports := map[string]string{}
	var out []*checked
	for _, p := range all {
		exports[p.ImportPath] = p.Export
		if p.ours() && isDeterministic(p.path()) {
			out = append(out, &checked{listed: p})
		}
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	for _, c := range out {
		c.check(t, lookup)
	}
	return out
}

func (c *checked) check(t *testing.T, lookup importer.Lookup) {
	t.Helper()
	c.files = sources(t, c.listed, false)
	c.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	if len(c.files) == 0 {
		return
	}
	fset := c.files[0].fset
	var files []*ast.File
	for _, f := range c.files {
		files = append(files, f.file)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	if _, err := conf.Check(c.ImportPath, fset, files, c.info); err != nil {
		t.Fatalf("checking %s: %v", c.ImportPath, err)
	}
}

func TestPurePackagesImportNothingImpure(t *testing.T) {
	for _, p := range packages(t) {
		if !isDeterministic(p.path()) {
			continue
		}
		for _, imp := range p.Imports {
			if msg := impureImport(p.path(), imp); msg != "" {
				t.Error(msg)
			}
		}
	}
}

func impureImport(path, imp string) string {
	if _, ok := excepted[path][imp]; ok || below(imp, module) {
		return ""
	}
	if !slices.Contains(parsers, imp) && slices.ContainsFunc(impure, func(no string) bool { return below(imp, no) }) {
		return fmt.Sprintf("%s is pure and imports %s", path, imp)
	}
	if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") {
		return ""
	}
	for allowed := range pureModules {
		if below(imp, allowed) || strings.HasPrefix(imp, allowed+"/") {
			return ""
		}
	}
	return fmt.Sprintf("%s is pure and imports %s, which is not in pureModules", path, imp)
}

func TestPurePackagesUseNoClockAndStartNothing(t *testing.T) {
	for _, c := range typed(t) {
		for _, f := range c.files {
			ast.Inspect(f.file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt:
					t.Errorf("%s: a pure package starts or signals a goroutine", f.at(n))
				case *ast.Ident:
					if obj := c.info.Uses[n]; obj != nil && obj.Pkg() != nil && slices.Contains(impureCalls[obj.Pkg().Path()], obj.Name()) && obj.Parent() == obj.Pkg().Scope() {
						t.Errorf("%s: a pure package uses %s.%s", f.at(n), obj.Pkg().Path(), obj.Name())
					}
				}
				return true
			})
		}
	}
}

// A map is ranged over only where its order cannot show, and the line says why:
// // order: REASON, on the line or on the one before.
func TestNoMapOrderShowsInPurePackages(t *testing.T) {
	for _, c := range typed(t) {
		for _, f := range c.files {
			reasons := orderReasons(f)
			for _, n := range unordered(c.info, f.file) {
				if line := f.fset.Position(n.Pos()).Line; !reasons[line] && !reasons[line-1] {
					t.Errorf("%s: ranges over a map; sort first, or say `// order: why it cannot show`", f.at(n))
				}
			}
		}
	}
}

func orderReasons(f *source) map[int]bool {
	lines := map[int]bool{}
	for _, group := range f.file.Comments {
		for _, c := range group.List {
			if _, reason, ok := strings.Cut(c.Text, "order: "); ok && len(reason) > 3 {
				lines[f.fset.Position(c.End()).Line] = true
			}
		}
	}
	return lines
}

// unordered finds what visits a map in its random order: range statements, and
// maps.Keys, Values and All unless they are sorted on the spot.
func unordered(info *types.Info, file *ast.File) []ast.Node {
	var found []ast.Node
	sorted := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			if tv, ok := info.Types[n.X]; ok && isMap(tv.Type) && n.Key != nil {
				found = append(found, n)
			}
		case *ast.CallExpr:
			switch name := called(info, n); {
			case strings.HasPrefix(name, "slices.Sorted"):
				sorted[n.Args[0]] = true
			case (name == "maps.Keys" || name == "maps.Values" || name == "maps.All") && !sorted[n]:
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

func isMap(t types.Type) bool {
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// called is PACKAGE.NAME of a called function of another package.
func called(info *types.Info, call *ast.CallExpr) string {
	fun := call.Fun
	if ix, ok := fun.(*ast.IndexExpr); ok {
		fun = ix.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	obj := info.Uses[sel.Sel]
	if obj == nil || obj.Pkg() == nil {
		return ""
	}
	return obj.Pkg().Name() + "." + obj.Name()
}

func TestRangingOverAMapIsSeen(t *testing.T) {
	const text = `package p
func f(m map[int]int, s []int) {
	for range m {
	}
	for k := range m {
		_ = k
	}
	for k := range m { // order: summed
		_ = k
	}
	for i := range s {
		_ = i
	}
}`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{}).Check("p", fset, []*ast.File{file}, info); err != nil {
		t.Fatal(err)
	}
	found, reasons := unordered(info, file), orderReasons(&source{"p.go", fset, file})
	if len(found) != 2 || reasons[fset.Position(found[0].Pos()).Line] || !reasons[fset.Position(found[1].Pos()).Line] {
		t.Fatalf("found %d, reasons on lines %v", len(found), reasons)
	}
}
