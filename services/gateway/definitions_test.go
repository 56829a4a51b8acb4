package gateway_test

import (
	"strings"
	"testing"
)

const tripled = `{"name":"double","version":"1","components":{"a":{"expr":"input * 3"}}}`

// A version that comes to mean another definition is warned of, with both digests.
func TestAVersionThatChangesIsWarnedOf(t *testing.T) {
	r := start(t, planner)
	first := r.ask(t, "PUT", "/v1/definitions/double", double)
	if again := r.ask(t, "PUT", "/v1/definitions/double", double); again.status != 200 || again.body != first.body || strings.Contains(again.body, "replaces") {
		t.Errorf("the same again: %d %s", again.status, again.body)
	}
	was, _ := first.field("digest").(string)
	a := r.ask(t, "PUT", "/v1/definitions/double", tripled)
	is, _ := a.field("digest").(string)
	if a.status != 200 || a.field("replaces") != was || is == was || !strings.Contains(a.body, `double@1 was `+was+` and is `+is) {
		t.Errorf("another under the same version: %d %s", a.status, a.body)
	}
	plain := `{"name":"plain","components":{"a":{"expr":"input * 2"}}}`
	r.ask(t, "PUT", "/v1/definitions/plain", plain)
	if a := r.ask(t, "PUT", "/v1/definitions/plain", strings.Replace(plain, "2", "3", 1)); a.status != 200 || strings.Contains(a.body, "warnings") {
		t.Errorf("one without a version: %d %s", a.status, a.body)
	}
}
