package gateway_test

import (
	"strings"
	"testing"
)

// What is wrong with a definition in a start's body has the body's line and column.
func TestErrorsOfInlineDefinitionsHaveTheirPlace(t *testing.T) {
	r := start(t, planner)
	body := "{\n  \"input\": 1,\n  \"definition\": {\n    \"name\": \"d\",\n    \"components\": {\"a\": {\n      \"expr\": \"input +\"}}}\n}"
	a := r.ask(t, "POST", "/v1/workflows", body)
	if a.code() != "invalid_definition" || !strings.Contains(a.body, `"path":"definition.components.a.expr"`) || !strings.Contains(a.body, `"line":6,"column":7`) {
		t.Fatalf("%d %s", a.status, a.body)
	}
}
