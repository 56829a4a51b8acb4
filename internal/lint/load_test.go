package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// listed is a package as `go list` tells it.
type listed struct {
	ImportPath   string
	Dir          string
	Export       string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

// path is the package's path in the module, "" for its root.
func (p *listed) path() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

func (p *listed) ours() bool { return below(p.ImportPath, module) }

func goList(args ...string) ([]*listed, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(err, errors.New(stderr.String()))
	}
	var all []*listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

var listOnce = sync.OnceValues(func() ([]*listed, error) {
	return goList("-tags=integration", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,Deps", "./...")
})

// packages are all packages of the repository.
func packages(t *testing.T) []*listed {
	t.Helper()
	all, err := listOnce()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	if len(all) < 5 {
		t.Fatalf("only %d packages found", len(all))
	}
	return all
}

// source is a parsed file with its place.
type source struct {
	name string // relative to the repository
	fset *token.FileSet
	file *ast.File
}

func (s *source) at(n ast.Node) string {
	p := s.fset.Position(n.Pos())
	p.Filename = s.name
	return p.String()
}

// sources parses the files of p; with tests, also its test files.
func sources(t *testing.T, p *listed, tests bool) []*source {
	t.Helper()
	names := p.GoFiles
	if tests {
		names = append(append(append([]string{}, names...), p.TestGoFiles...), p.XTestGoFiles...)
	}
	var all []*source
	fset := token.NewFileSet()
	for _, name := range names {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &source{filepath.Join(p.path(), name), fset, f})
	}
	return all
}
