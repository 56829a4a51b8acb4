package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// decoder is the name of an exported function that makes something of bytes or
// texts from outside.
var decoder = regexp.MustCompile(`^(Decode|Parse|Unmarshal)([A-Z]|$)|^Scan[A-Z]`)

// unfuzzed are the decoders that no fuzz target calls, with what covers them.
var unfuzzed = map[string]string{
	"services/gateway.ParseRole":   "one of three words, of an operator",
	"services/gateway.ParseAPIKey": "a flag of an operator",
	"shared/events.ScanStatus":     "FuzzScannedRowIsTheRow of the gateway, FuzzScannedEndIsTheEnd of the client",
	"shared/events.ScanDrained":    "FuzzReply of internal/ask",
}

// TestEveryDecoderIsFuzzed holds that the body of some fuzz target calls each
// exported decoder of the repository, so that a new one is not forgotten.
// Decoders that are not exported are reached through these, or stand beside a
// target of their package.
func TestEveryDecoderIsFuzzed(t *testing.T) {
	root := filepath.Join("..", "..")
	decoders, called := map[string]string{}, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			switch {
			case !ok || f.Body == nil:
			case strings.HasSuffix(path, "_test.go") && strings.HasPrefix(f.Name.Name, "Fuzz"):
				callsOf(f.Body, filepath.Base(dir), called)
			case !strings.HasSuffix(path, "_test.go") && f.Recv == nil && decoder.MatchString(f.Name.Name) && !strings.HasPrefix(dir, "test"):
				decoders[filepath.ToSlash(dir)+"."+f.Name.Name] = filepath.Base(dir) + "." + f.Name.Name
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(decoders) < 10 {
		t.Fatalf("only %d decoders were found", len(decoders))
	}
	for path, name := range decoders {
		if !called[name] && unfuzzed[path] == "" {
			t.Errorf("no fuzz target calls %s; write one, or say in unfuzzed what covers it", path)
		}
	}
	for path := range unfuzzed {
		if decoders[path] == "" {
			t.Errorf("unfuzzed names %s, which is no decoder", path)
		} else if called[decoders[path]] {
			t.Errorf("unfuzzed names %s, which a target calls", path)
		}
	}
}

// callsOf notes the functions that a body in a package calls, as package.Name.
func callsOf(body ast.Node, pkg string, called map[string]bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch f := call.Fun.(type) {
			case *ast.Ident:
				called[pkg+"."+f.Name] = true
			case *ast.SelectorExpr:
				if x, ok := f.X.(*ast.Ident); ok {
					called[x.Name+"."+f.Sel.Name] = true
				}
			}
		}
		return true
	})
}
