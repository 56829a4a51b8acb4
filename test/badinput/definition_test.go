package badinput

import (
	"encoding/json"
	"testing"
)

// TestInvalidDefinitionsNameTheirFault sends a few over each way in; every rule
// is a test of the definitions' own package.
func TestInvalidDefinitionsNameTheirFault(t *testing.T) {
	r := start(t)
	for name, c := range map[string]struct{ definition, path string }{
		"no components":    {`{"name":"d"}`, "components"},
		"unknown field":    {`{"name":"d","components":{"a":{"step":"echo","colour":"red"}}}`, "components.a.colour"},
		"unknown kind":     {`{"name":"d","components":{"a":{"after":"b"},"b":{"step":"echo"}}}`, "components.a"},
		"unknown parent":   {`{"name":"d","components":{"a":{"step":"echo","after":"nobody"}}}`, "components.a.after"},
		"cycle":            {`{"name":"d","components":{"a":{"step":"echo","after":"b"},"b":{"step":"echo","after":"a"}}}`, "components.a"},
		"bad expression":   {`{"name":"d","components":{"a":{"expr":"input +"}}}`, "components.a.expr"},
		"unenforced field": {`{"name":"d","components":{"a":{"step":"echo","policy":{"executor":"b"}}}}`, "components.a.policy.executor"},
		"sync step":        {`{"name":"d","components":{"a":{"step":"echo","policy":{"execution_mode":"sync"}}}}`, "components.a.policy.execution_mode"},
	} {
		t.Run(name, func(t *testing.T) {
			r := r.of(t)
			r.refused(r.do(r.idOn(0), "start", `{"definition":`+c.definition+`}`), "invalid_definition", "definition."+c.path)
			r.isProblem(r.ask("PUT", "/v1/definitions/d", c.definition), 422, "invalid_definition", c.path)
			r.isProblem(r.ask("PUT", "/v1/workflows/"+r.idOn(0)+"?wait=accepted", `{"definition":`+c.definition+`}`), 422, "invalid_definition", "definition."+c.path)
		})
	}
	r.refused(r.do(r.idOn(0), "start", `{"definition":"nobody"}`), "unknown_definition", "definition")
	r.isProblem(r.ask("PUT", "/v1/workflows/"+r.idOn(0)+"?wait=accepted", `{"definition":"nobody"}`), 422, "unknown_definition", "definition")
	r.goesOn()
}

// TestWhatComesWithAStartIsChecked: input, policies, options, context.
func TestWhatComesWithAStartIsChecked(t *testing.T) {
	r := start(t)
	const strict = `{"name":"d","input":{"schema":{"type":"object","required":["n"]}},"components":{"a":{"expr":"input.n"}}}`
	for name, c := range map[string]struct {
		fields map[string]any
		code   string
		path   string
	}{
		"input against its schema": {map[string]any{"input": 7}, "invalid_input", "input"},
		"unknown policy field":     {map[string]any{"input": map[string]int{"n": 1}, "policies": []any{map[string]any{"match": "default", "speed": 9}}}, "invalid_policy", "policies"},
		"unknown option":           {map[string]any{"input": map[string]int{"n": 1}, "options": map[string]any{"speed": 9}}, "invalid_options", "options"},
		"policies of a kind":       {map[string]any{"policies": 7}, "invalid_field", "policies"},
		"context of a kind":        {map[string]any{"context": []int{1}}, "invalid_field", "context"},
	} {
		t.Run(name, func(t *testing.T) {
			r := r.of(t)
			c.fields["definition"] = json.RawMessage(strict)
			body, err := json.Marshal(c.fields)
			r.must(err)
			r.refused(r.do(r.idOn(0), "start", string(body)), c.code, c.path)
			r.isProblem(r.ask("PUT", "/v1/workflows/"+r.idOn(1)+"?wait=accepted", string(body)), 422, c.code, c.path)
		})
	}
	r.goesOn()
}
