package gateway_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/shared/events"
)

type object = map[string]any

// document fetches /openapi.json from the running server.
func document(t *testing.T, r *rig) object {
	t.Helper()
	a := r.ask(t, "GET", "/openapi.json", "")
	var doc object
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || a.status != 200 || doc["openapi"] != "3.1.0" {
		t.Fatalf("%d, %v: %.200s", a.status, err, a.body)
	}
	return doc
}

func TestOpenAPIHasEveryRouteAndNoOther(t *testing.T) {
	r := start(t, planner)
	var described, served []string
	for path, item := range document(t, r)["paths"].(object) {
		for method := range item.(object) {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	if err := gateway.Walk(r.gw, func(method, path string) {
		served = append(served, method+" "+strings.Replace(path, "/*", "/{path}", 1))
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Fatalf("described %q\nserved %q", described, served)
	}
}

// calls has, for every route, requests whose answers the document must allow.
func calls(token string) map[string][]string {
	return map[string][]string{ // "METHOD route": path and body, in turns
		"GET /v1/definitions":                 {"/v1/definitions", "", "/v1/definitions?limit=0", ""},
		"PUT /v1/definitions/{name}":          {"/v1/definitions/double", double, "/v1/definitions/double", "{"},
		"GET /v1/definitions/{name}":          {"/v1/definitions/double", "", "/v1/definitions/nobody", ""},
		"GET /v1/definitions/{name}/versions": {"/v1/definitions/double/versions", ""},
		"GET /v1/definitions/{name}/graph":    {"/v1/definitions/double/graph", "", "/v1/definitions/double/graph?format=mermaid", ""},
		"POST /v1/workflows":                  {"/v1/workflows", inline, "/v1/workflows?wait=accepted", inline, "/v1/workflows?wait=5s", inline, "/v1/workflows", "{}"},
		"PUT /v1/workflows/{id}":              {"/v1/workflows/w", inline, "/v1/workflows/w?wait=accepted", inline, "/v1/workflows/taken?wait=accepted", inline},
		"DELETE /v1/workflows/{id}":           {"/v1/workflows/w", ""},
		"POST /v1/workflows/{id}/inputs":      {"/v1/workflows/w/inputs", `{"input":1}`, "/v1/workflows/w/inputs?wait=5s", `{"input":1}`},
		"POST /v1/workflows/{id}/pause":       {"/v1/workflows/w/pause", "", "/v1/workflows/missing/pause", ""},
		"POST /v1/workflows/{id}/resume":      {"/v1/workflows/w/resume", ""},
		"POST /v1/workflows/{id}/stop":        {"/v1/workflows/w/stop", `{"drain":"5s"}`},
		"POST /v1/workflows/{id}/cancel":      {"/v1/workflows/w/cancel", ""},
		"POST /v1/workflows/{id}/retry":       {"/v1/workflows/w/retry", ""},
		"POST /v1/workflows/{id}/skip":        {"/v1/workflows/w/skip", `{"runnable":"r1"}`},
		"PUT /v1/workflows/{id}/policies":     {"/v1/workflows/w/policies", `{"policies":[],"by":"ann"}`, "/v1/workflows/w/policies", "{}"},
		"POST /v1/workflows/{id}/migrate":     {"/v1/workflows/w/migrate", `{"definition":"double","by":"ann"}`, "/v1/workflows/w/migrate", "{}", "/v1/workflows/w/migrate", `{"definition":"nobody"}`},
		"POST /v1/workflows/{id}/checkpoint":  {"/v1/workflows/w/checkpoint", ""},
		"POST /v1/workflows/{id}/signals/{name}": {
			"/v1/workflows/w/signals/approved", `{"key":"k","input":{"by":"ann"},"by":"ann"}`, "/v1/workflows/w/signals/approved", "",
			"/v1/workflows/missing/signals/approved", "", "/v1/workflows/w/signals/approved", `{"name":"approved"}`,
		},
		"GET /v1/workflows":                  {"/v1/workflows", "", "/v1/workflows?limit=x", "", "/v1/workflows?archived=true&cursor=archive", "", "/v1/workflows?archived=x", ""},
		"GET /v1/workflows/{id}":             {"/v1/workflows/w", "", "/v1/workflows/missing", "", "/v1/workflows/w?wait=1s", ""},
		"GET /v1/workflows/{id}/results":     {"/v1/workflows/w/results", ""},
		"GET /v1/workflows/{id}/productions": {"/v1/workflows/w/productions", ""},
		"GET /v1/workflows/{id}/facts":       {"/v1/workflows/w/facts", ""},
		"GET /v1/workflows/{id}/runnables":   {"/v1/workflows/w/runnables?status=failed", ""},
		"GET /v1/workflows/{id}/explain":     {"/v1/workflows/w/explain", ""},
		"GET /v1/keys":                       {"/v1/keys", "", "/v1/keys?kind=both", "", "/v1/keys?cursor=x", ""},
		"GET /v1/keys/{key}":                 {"/v1/keys/prices%2Facme", "", "/v1/keys/prices?kind=rate", "", "/v1/keys/prices?kind=both", "", "/v1/keys/%00", ""},
		"GET /v1/pools":                      {"/v1/pools", "", "/v1/pools?cursor=x", ""},
		"GET /v1/pools/{name}":               {"/v1/pools/images", "", "/v1/pools/images?attempt=" + token, "", "/v1/pools/images?attempt=x", "", "/v1/pools/nobody", ""},
		"GET /v1/runners":                    {"/v1/runners", "", "/v1/runners?pool=images", "", "/v1/runners?pool=%20", ""},
		"POST /v1/pools/{name}/runners/{runner}/stop": {
			"/v1/pools/images/runners/a/stop", `{"now":true,"by":"ann","why":"it hangs"}`, "/v1/pools/images/runners/a/stop", "{}",
		},
		"GET /v1/workflows/{id}/history":   {"/v1/workflows/w/history", ""},
		"GET /v1/workflows/{id}/graph":     {"/v1/workflows/w/graph", "", "/v1/workflows/w/graph?format=mermaid", ""},
		"GET /v1/workflows/{id}/events":    {"/v1/workflows/missing/events", ""}, // the stream itself: history_test.go
		"POST /v1/tasks/{token}/complete":  {"/v1/tasks/" + token + "/complete", `{"result":1}`, "/v1/tasks/x/complete", "{}"},
		"POST /v1/tasks/{token}/fail":      {"/v1/tasks/" + token + "/fail", `{"error":{"type":"t","message":"m"}}`},
		"POST /v1/tasks/{token}/heartbeat": {"/v1/tasks/" + token + "/heartbeat", ""},
		// What an attempt answers: tunnel_test.go.
		"GET /v1/workflows/{id}/tasks/{token}/tunnel/{path}":    {"/v1/workflows/w/tasks/x/tunnel/a?b=c", ""},
		"POST /v1/workflows/{id}/tasks/{token}/tunnel/{path}":   {"/v1/workflows/w/tasks/" + token + "/tunnel/", "{}"},
		"PUT /v1/workflows/{id}/tasks/{token}/tunnel/{path}":    {"/v1/workflows/other/tasks/" + token + "/tunnel/a/b", "{}"},
		"PATCH /v1/workflows/{id}/tasks/{token}/tunnel/{path}":  {"/v1/workflows/w/tasks/x/tunnel/", ""},
		"DELETE /v1/workflows/{id}/tasks/{token}/tunnel/{path}": {"/v1/workflows/w/tasks/x/tunnel/", ""},
		"GET /v1/workflows/{id}/lookup":                         {"/v1/workflows/w/lookup", "", "/v1/workflows/nobody/lookup", "", "/v1/workflows/a%20b/lookup", ""},
		"GET /v1/queues":                                        {"/v1/queues", ""},
		"GET /v1/archive":                                       {"/v1/archive?status=completed", "", "/v1/archive?limit=x", "", "/v1/archive?cursor=x", ""},
		"GET /v1/archive/{id}":                                  {"/v1/archive/a", "", "/v1/archive/nobody", "", "/v1/archive/a%20b", ""},
		"GET /v1/archive/{id}/history":                          {"/v1/archive/a/history?run=1.2", "", "/v1/archive/a/history?cursor=x", ""},
		"GET /v1/archive/{id}/runnables":                        {"/v1/archive/a/runnables?status=completed", "", "/v1/archive/a/runnables?limit=0", ""},
		"POST /v1/archive/{id}/restore":                         {"/v1/archive/w/restore", byAnn, "/v1/archive/w/restore", "{"},
		"GET /v1/archive/{id}/facts":                            {"/v1/archive/a/facts", ""},
		"GET /v1/readiness":                                     {"/v1/readiness", ""},
		"GET /v1/readiness/events":                              {"/v1/readiness/events?partition=1", ""}, // the stream itself: readiness_stream_test.go
		"GET /v1/readiness/{partition}":                         {"/v1/readiness/1", "", "/v1/readiness/9", ""},
		"POST /v1/partitions/{partition}/accept-loss": {
			"/v1/partitions/1/accept-loss", `{"log":"inbox","from":3,"to":5,"by":"ann","why":"the disk is gone"}`,
			"/v1/partitions/9/accept-loss", "{}", "/v1/partitions/1/accept-loss", "{}",
		},
		"POST /v1/partitions/{partition}/force-release":  {"/v1/partitions/1/force-release", byAnn, "/v1/partitions/1/force-release", "{}"},
		"POST /v1/partitions/{partition}/mark-stale":     {"/v1/partitions/1/mark-stale", byAnn},
		"POST /v1/partitions/{partition}/request-replay": {"/v1/partitions/1/request-replay", `{"cursor":"inbox@4","by":"ann","why":"it was cut"}`},
		"POST /v1/partitions/{partition}/remove-dispatch": {
			"/v1/partitions/1/remove-dispatch", `{"ids":["` + token + `"],"by":"ann","why":"it was looked at"}`, "/v1/partitions/1/remove-dispatch", `{"ids":["x"],"by":"ann","why":"odd"}`,
		},
		"GET /v1/partitions/{partition}/dispatches":  {"/v1/partitions/1/dispatches", "", "/v1/partitions/1/dispatches?status=lost", ""},
		"POST /v1/partitions/{partition}/checkpoint": {"/v1/partitions/1/checkpoint", byAnn},
		"GET /":                        {"/", ""},
		"GET /livez":                   {"/livez", ""},
		"GET /readyz":                  {"/readyz", ""},
		"GET /metrics":                 {"/metrics", ""},
		"GET /openapi.json":            {"/openapi.json", ""},
		"GET /schemas/definition.json": {"/schemas/definition.json", ""},
		"GET /schemas/heddle.proto":    {"/schemas/heddle.proto", ""},
	}
}

func TestEveryAnswerIsAsTheDocumentSays(t *testing.T) {
	r := start(t, historian, archived(t))
	r.journals(t)
	r.statuses(t, r.row("a", "idle", "d", "x", 1, 2))
	r.awaitListed(t, "", "a")
	doc := document(t, r)
	token := events.TokenText(events.Key("0123456789abcdef").Seal(events.Token{Workflow: "w", Runnable: 3, Attempt: 1}))
	all := calls(token)
	order := []string{"PUT /v1/definitions/{name}"} // the others need it
	for path, item := range doc["paths"].(object) {
		for method := range item.(object) {
			if name := strings.ToUpper(method) + " " + path; name != order[0] {
				order = append(order, name)
			}
		}
	}
	for _, name := range order {
		if len(all[name]) == 0 {
			t.Errorf("%s is in the document and not tried", name)
		}
		method, path, _ := strings.Cut(name, " ")
		op := doc["paths"].(object)[path].(object)[strings.ToLower(method)].(object)
		for i := 0; i+1 < len(all[name]); i += 2 {
			a := r.ask(t, method, all[name][i], all[name][i+1])
			if err := conforms(doc, op, a); err != nil {
				t.Errorf("%s (%s): %d %.300s: %v", name, all[name][i], a.status, a.body, err)
			}
		}
	}
}

// conforms holds an answer against the operation: status, media type, schema.
func conforms(doc, op object, a reply) error {
	responses := op["responses"].(object)
	response, ok := responses[fmt.Sprint(a.status)].(object)
	if !ok && a.status >= 400 {
		response, ok = responses["default"].(object)
	}
	if !ok {
		return fmt.Errorf("the status is not described")
	}
	mime, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	media, ok := response["content"].(object)[mime].(object)
	if !ok {
		return fmt.Errorf("%s is not described", mime)
	}
	if !strings.HasSuffix(mime, "json") {
		return nil
	}
	schema, err := compiled(doc, media["schema"])
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(a.body))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// compiled compiles a schema of the document, in which references begin at its
// root.
func compiled(doc object, schema any) (*jsonschema.Schema, error) {
	whole := object{"components": doc["components"], "at": schema}
	b, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("mem:///doc", v); err != nil {
		return nil, err
	}
	return c.Compile("mem:///doc#/at")
}

func TestReadsCarryETags(t *testing.T) {
	r := start(t, historian)
	r.journals(t)
	for _, path := range []string{"/v1/workflows/w", "/v1/workflows/w/results", "/v1/workflows/w/history", "/v1/workflows/w/graph", "/openapi.json"} {
		first := r.ask(t, "GET", path, "")
		tag := first.header.Get("ETag")
		if first.status != 200 || tag == "" {
			t.Errorf("%s: %d, ETag %q", path, first.status, tag)
			continue
		}
		for header, want := range map[string]int{tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, `"x"`: 200} {
			if a := r.ask(t, "GET", path, "", "If-None-Match", header); a.status != want || want == 304 && a.body != "" {
				t.Errorf("%s If-None-Match %s: %d, want %d", path, header, a.status, want)
			}
		}
	}
}

func TestGraphIsWhatTheAcceptHeaderAsksFor(t *testing.T) {
	r := start(t, planner)
	for accept, want := range map[string]string{"text/vnd.mermaid": "flowchart TD", "application/json": `{"digest"`, "*/*": `{"digest"`} {
		if a := r.ask(t, "GET", "/v1/workflows/w/graph", "", "Accept", accept); a.status != 200 || !strings.HasPrefix(a.body, want) {
			t.Errorf("%s: %d %s", accept, a.status, a.body)
		}
	}
	if a := r.ask(t, "GET", "/v1/workflows/w/graph?format=png", ""); a.status != 400 {
		t.Errorf("png: %d %s", a.status, a.body)
	}
}

func TestReadinessIsPassedOnAsLongAsItIsRecent(t *testing.T) {
	r := start(t, planner)
	a := r.ask(t, "GET", "/v1/readiness", "")
	if a.status != 200 || a.field("ready") != false || !strings.Contains(a.body, "no readiness record") {
		t.Fatalf("none: %d %s", a.status, a.body)
	}
	say := func(at time.Time) {
		rec := kafka.Keyed(r.Topics.Readiness(), []byte("all"), []byte(`{"ready":true}`))
		rec.Timestamp = at
		r.statuses(t, rec)
	}
	say(time.Now())
	awaitTrue(t, r.ctx, func() bool { return r.ask(t, "GET", "/v1/readiness", "").body == `{"ready":true}` })
	say(time.Now().Add(-time.Hour))
	awaitTrue(t, r.ctx, func() bool { return strings.Contains(r.ask(t, "GET", "/v1/readiness", "").body, "does not run") })
	if a := r.ask(t, "GET", "/v1/readiness/1", ""); !strings.Contains(a.body, "does not run") {
		t.Fatalf("partition: %d %s", a.status, a.body)
	}
}

func TestQueuesAreCreatedWhereThatIsAllowed(t *testing.T) {
	const src = `{"name":"d","components":{"a":{"step":"t","queue":"gpu"}}}`
	r := start(t, planner)
	if a := r.ask(t, "PUT", "/v1/definitions/d", src); a.status != 422 || a.code() != "unknown_queue" || !strings.Contains(a.body, "heddle topics apply --queue gpu") {
		t.Fatalf("not allowed: %d %s", a.status, a.body)
	}
	r = start(t, planner, func(c *gateway.Config) { c.CreateQueues = true })
	for range 2 {
		if a := r.ask(t, "PUT", "/v1/definitions/d", src); a.status != 200 {
			t.Fatalf("allowed: %d %s", a.status, a.body)
		}
	}
}

func TestInvalidDefinitionNamesEachField(t *testing.T) {
	r := start(t, planner)
	a := r.ask(t, "PUT", "/v1/definitions/d", "name: d\ncomponents:\n  a: {step: t, after: nobody}\n  b: {exp: x}\n")
	list, _ := a.field("errors").([]any)
	if a.status != 422 || a.code() != "invalid_definition" || len(list) < 2 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for _, place := range []string{`"path":"components.a.after","message":"unknown component \"nobody\"","line":3,"column":16`, `"line":4,"column":7`} {
		if !strings.Contains(a.body, place) {
			t.Errorf("%s is not in %s", place, a.body)
		}
	}
	if a := r.ask(t, "PUT", "/v1/definitions/other", double); a.status != 422 || !strings.Contains(a.body, `"path":"name"`) {
		t.Fatalf("another name: %d %s", a.status, a.body)
	}
}
