package lint

import (
	"go/ast"
	"strings"
	"testing"
)

// withoutExample are exported functions of the SDK that a user's program does not call.
var withoutExample = map[string]string{
	"sdk/client.Over":                 "what brings a transport of its own calls it, as kafkaclient",
	"sdk/client.Error_Error":          "errors are printed and compared",
	"sdk/client.Error_Is":             "errors.Is calls it",
	"sdk/client.FailedError_Error":    "errors are printed and compared",
	"sdk/client.FailedError_Unwrap":   "errors.As calls it",
	"sdk/client.Event_MarshalJSON":    "encoding/json calls it",
	"sdk/client.Event_UnmarshalJSON":  "encoding/json calls it",
	"sdk/client.Runnable_MarshalJSON": "encoding/json calls it",
	"sdk/task.Error_Error":            "errors are printed and compared",
	"sdk/task.Error_TaskError":        "workers call it",
	"sdk/task.Error_Unwrap":           "errors.As calls it",
	"sdk/task.WithSource":             "workers call it",
	"sdk/runner.KeysError_Error":      "errors are printed and compared",
	"sdk/runner.StoppedError_Error":   "errors are printed and compared",
	"sdk/store.Conflict_Error":        "errors are printed and compared",
	"sdk/store.Fenced_Error":          "errors are printed and compared",
	"sdk/client.Client_Close":         "every example defers it",
}

// Each exported function of the SDK has an example.
func TestEachFunctionOfTheSDKHasAnExample(t *testing.T) {
	checked := 0
	for _, p := range packages(t) {
		if !below(p.path(), "sdk") {
			continue
		}
		exported, examples := map[string]bool{}, map[string]bool{}
		for _, f := range sources(t, p, true) {
			for _, d := range f.file.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				name, isExample := strings.CutPrefix(fn.Name.Name, "Example")
				switch {
				case isExample && fn.Recv == nil:
					examples[name] = true
				case !strings.HasSuffix(f.name, "_test.go") && fn.Name.IsExported():
					exported[exampleOf(fn)+fn.Name.Name] = true
				}
			}
		}
		for name := range exported {
			if !ast.IsExported(name) {
				continue
			}
			checked++
			if !examples[name] && withoutExample[p.path()+"."+name] == "" {
				t.Errorf("%s has no Example%s", p.path(), name)
			}
		}
	}
	if checked < 50 {
		t.Fatalf("only %d functions found", checked)
	}
}

// exampleOf is what the example of a method begins with.
func exampleOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	return receiver(fn) + "_"
}
