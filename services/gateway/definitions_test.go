package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/services/gateway"
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

// listedDefinitions is one page of the names.
func (r *rig) listedDefinitions(t *testing.T, query string) gateway.List[gateway.NamedDefinition] {
	t.Helper()
	a := r.ask(t, "GET", "/v1/definitions"+query, "")
	var page gateway.List[gateway.NamedDefinition]
	if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != 200 {
		t.Fatalf("%s: %d %s", query, a.status, a.body)
	}
	return page
}

// What is registered is listed by name, with the open workflows that use it.
func TestDefinitionsAreListedWithWhoUsesThem(t *testing.T) {
	r := start(t, planner)
	if page := r.listedDefinitions(t, ""); len(page.Items) != 0 || page.Next != nil {
		t.Fatalf("without any: %+v", page)
	}
	first := r.ask(t, "PUT", "/v1/definitions/double", double)
	second := r.ask(t, "PUT", "/v1/definitions/double", strings.Replace(tripled, `"version":"1"`, `"version":"2"`, 1))
	r.ask(t, "PUT", "/v1/definitions/another", strings.Replace(double, "double", "another", 1))
	old, _ := first.field("digest").(string)
	bare := strings.TrimPrefix(old, "sha256:") // rows put this before a digest
	r.statuses(t,
		r.row("a", "idle", bare, "x", 1, 2), r.row("b", "paused", bare, "x", 2, 3), r.row("c", "completed", bare, "x", 3, 4),
		r.row("d", "cancelled", bare, "x", 4, 5), r.row("e", "running", "unregistered", "x", 5, 6),
	)
	r.awaitListed(t, "", "e", "d", "c", "b", "a")
	page := r.listedDefinitions(t, "")
	if len(page.Items) != 2 || page.Next != nil || page.Items[0].Name != "another" || page.Items[0].AllOpen.Count != 0 {
		t.Fatalf("listed: %+v", page)
	}
	d := page.Items[1]
	if d.Version.Version != "2" || d.Digest != second.field("digest") || d.Versions != 2 || d.Open.Count != 0 || d.AllOpen.Count != 2 || d.AllOpen.AtLeast {
		t.Errorf("double is %+v, open %+v of %+v", d, d.Open, d.AllOpen)
	}
	var versions gateway.List[gateway.Version]
	a := r.ask(t, "GET", "/v1/definitions/double/versions", "")
	if err := json.Unmarshal([]byte(a.body), &versions); err != nil || len(versions.Items) != 2 || versions.Items[1].Digest != old || versions.Items[1].Open.Count != 2 {
		t.Errorf("versions: %v %s", err, a.body)
	}
}

func TestPagesOfDefinitionsFollowEachOther(t *testing.T) {
	r := start(t, planner)
	for _, name := range []string{"c", "a", "b"} {
		r.ask(t, "PUT", "/v1/definitions/"+name, strings.Replace(double, "double", name, 1))
	}
	var names []string
	query := "?limit=2"
	for range 2 {
		page := r.listedDefinitions(t, query)
		for _, d := range page.Items {
			names = append(names, d.Name)
		}
		if page.Next == nil {
			break
		}
		query = "?limit=2&cursor=" + *page.Next
	}
	if got := strings.Join(names, ""); got != "abc" {
		t.Errorf("listed %q", got)
	}
	if a := r.ask(t, "GET", "/v1/definitions?cursor=*", ""); a.status != 400 || a.code() != "invalid_parameter" {
		t.Errorf("a cursor that is none: %d %s", a.status, a.body)
	}
}
