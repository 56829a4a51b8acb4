package gateway_test

import (
	"strings"
	"testing"
)

// A browser finds a page that loads nothing, with the partitions' state, escaped.
func TestTheRootIsAPageForPeople(t *testing.T) {
	r := start(t, planner)
	a := r.ask(t, "GET", "/", "")
	if a.status != 200 || a.header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(a.body, "no readiness record") {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	r.readiness(t, "all", `{"ready":false,"partitions":[`+
		`{"partition":0,"authority":{"owner":"p1"},"readiness":{"ready":true}},{"partition":1,"readiness":{"ready":false,"reasons":["<b>blocked</b>"]}}]}`)
	awaitTrue(t, r.ctx, func() bool {
		a = r.ask(t, "GET", "/", "")
		return strings.Contains(a.body, "<td>1</td>") // the page says "Not all are ready." without a record too
	})
	for _, want := range []string{
		"<td>0</td><td>ready</td><td>p1</td>", "<td>1</td><td>not ready</td><td></td><td>&lt;b&gt;blocked&lt;/b&gt;<br></td>", `href="/openapi.json"`,
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s is not in\n%s", want, a.body)
		}
	}
	if strings.Contains(a.body, "src=") || !strings.HasPrefix(a.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("it may load something: %v\n%s", a.header, a.body)
	}
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	r := start(t, historian)
	r.journals(t)
	for _, path := range []string{"/", "/v1/workflows", "/v1/workflows/w", "/v1/workflows/w/events", "/livez", "/openapi.json", "/v1/workflows/missing"} {
		head := r.ask(t, "HEAD", path, "")
		want := 200
		if path == "/v1/workflows/missing" {
			want = 404
		}
		if head.status != want || head.body != "" || head.header.Get("Content-Type") == "" {
			t.Errorf("%s: %d %v %s", path, head.status, head.header, head.body)
		}
	}
	if get, head := r.ask(t, "GET", "/openapi.json", ""), r.ask(t, "HEAD", "/openapi.json", ""); get.header.Get("ETag") != head.header.Get("ETag") {
		t.Errorf("ETags %v and %v", get.header, head.header)
	}
}

func TestAllowSaysWhatAPathTakes(t *testing.T) {
	r := start(t, planner)
	for path, want := range map[string]string{
		"/v1/workflows": "GET, HEAD, OPTIONS, POST", "/v1/workflows/a%2Fb": "DELETE, GET, HEAD, OPTIONS, PUT",
		"/v1/workflows/w/pause": "OPTIONS, POST", "/v1/readiness": "GET, HEAD, OPTIONS",
	} {
		if a := r.ask(t, "PATCH", path, ""); a.status != 405 || a.code() != "method_not_allowed" || a.header.Get("Allow") != want {
			t.Errorf("PATCH %s: %d, Allow %q, want %q", path, a.status, a.header.Get("Allow"), want)
		}
		if a := r.ask(t, "OPTIONS", path, ""); a.status != 204 || a.header.Get("Allow") != want {
			t.Errorf("OPTIONS %s: %d, Allow %q, want %q", path, a.status, a.header.Get("Allow"), want)
		}
	}
}
