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
var decoder = regexp.MustCompile(`^(Decode|Parse|Unmarshal)([A-Z]|$)`)

// unfuzzed are the decoders that no fuzz target calls, with what covers them.
var unfuzzed = map[string]string{
	"internal/access.ParseRole": "one of three words, of an operator",
	"internal/access.ParseKey":  "a flag of an operator",
}

// raw are the calls that take bytes or texts apart.
var raw = regexp.MustCompile(`^(json\.(Unmarshal|NewDecoder)|yaml\.(Unmarshal.*|NewDecoder)|wire\.Unmarshal|strconv\.(Atoi|Parse.*)|hex\.Decode.*|binary\.(Uvarint|Varint|Read)|url\.Parse.*|netip\.Parse.*|time\.Parse.*)$`)

// untargeted are the packages that take bytes or texts apart and have no fuzz
// target, with what covers them.
var untargeted = map[string]string{
	"services/readiness":                "FuzzStatusTable of readinessd",
	"internal/partition/feed":           "FuzzDecodeTask of shared/events",
	"sdk/kafkaclient":                   "FuzzReply of internal/request",
	"services/planner/archive/archiver": "FuzzSnapshot and FuzzEntries of services/planner/archive, FuzzReply of internal/request",
	"services/planner/archive/shelf":    "FuzzSnapshot and FuzzEntries of services/planner/archive",

	"internal/access":           "a flag of an operator",
	"internal/runtime":          "FuzzRows of internal/partition, FuzzStatusTable of readinessd",
	"internal/dev/devfile":      "FuzzFiles of cmd/heddle",
	"internal/dev":              "a port and a key, of an operator",
	"internal/tracing/otlp":     "an address in the environment, of an operator",
	"internal/dev/demo":         "events of its own workflows, as FuzzEvent of sdk/client has them",
	"internal/kafka":            "numbers in settings of topics and brokers, from Kafka's administration",
	"services/planner/plannerd": "numbers in settings of topics, from Kafka's administration",
	"sdk/task":                  "encoding/json, into types of the user",
	"internal/conformance":      "FuzzDecodeFrame of shared/frames",
	"internal/typed":            "encoding/json, into types of the user",
	"services/executor/keeping": "FuzzDecodeFrame of shared/frames, FuzzOpenToken of shared/events, FuzzReply of internal/request",
	"sdk/runner":                "FuzzDecodeFrame of shared/frames; a URL, of an operator",
}

// tooling reports whether a package of that path reads only what it has written, or
// what its operator has.
func tooling(path string) bool {
	for _, dir := range []string{"test", "examples", "bench", "internal/bench"} {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return strings.HasSuffix(path, "test")
}

// TestEveryDecoderIsFuzzed holds that the body of some fuzz target calls each
// exported decoder of the repository, so that a new one is not forgotten, and
// that a package with a decoder of whatever name has a target.
func TestEveryDecoderIsFuzzed(t *testing.T) {
	root := filepath.Join("..", "..")
	decoders, called := map[string]string{}, map[string]bool{}
	decoding, targeted := map[string]bool{}, map[string]bool{}
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
		dir = filepath.ToSlash(dir)
		if !strings.HasSuffix(path, "_test.go") && takesApart(file) {
			decoding[dir] = true
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			switch {
			case !ok || f.Body == nil:
			case strings.HasSuffix(path, "_test.go") && strings.HasPrefix(f.Name.Name, "Fuzz"):
				callsOf(f.Body, filepath.Base(dir), called)
				targeted[dir] = true
			case !strings.HasSuffix(path, "_test.go") && f.Recv == nil && decoder.MatchString(f.Name.Name) && !strings.HasPrefix(dir, "test"):
				decoders[dir+"."+f.Name.Name] = filepath.Base(dir) + "." + f.Name.Name
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
	for path := range decoding {
		if !targeted[path] && !tooling(path) && untargeted[path] == "" {
			t.Errorf("%s takes bytes or texts apart and has no fuzz target; write one, or say in untargeted what covers it", path)
		}
	}
	for path := range untargeted {
		if !decoding[path] || targeted[path] {
			t.Errorf("untargeted names %s, which takes nothing apart or has a target", path)
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

// takesApart reports whether a file has a call that is raw.
func takesApart(file *ast.File) bool {
	calls := map[string]bool{}
	callsOf(file, "", calls)
	for name := range calls {
		if raw.MatchString(name) {
			return true
		}
	}
	return false
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
