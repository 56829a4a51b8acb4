package main

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// asked is what the API answers, as a value.
func asked(t *testing.T, url string) any {
	t.Helper()
	return decoded(t, get(t, url))
}

// get is what is at a URL.
func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return timeless(v)
}

// timeless writes all times alike, and leaves out those that go on.
func timeless(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "leased_until")
		for k := range v {
			v[k] = timeless(v[k])
		}
	case []any:
		for i := range v {
			v[i] = timeless(v[i])
		}
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	}
	return v
}

const shapely = `
name: shapely
version: "1"
components:
  first:  {step: test.echo}
  person: {step: person.decides, after: first, policy: {execution_mode: external, concurrency: {key: "'people'", limit: 2}, rate_limit: {key: "'people'", limit: 3, per: 1h}, circuit_breaker: {name: people, failure_threshold: 3, reset_timeout: 1h}}}
  wrong:  {step: test.fail, params: {n: 9}, policy: {max_retries: 0, on_failure: skip}}
  never:  {condition: "input.name == 'bob'"}
  behind: {expr: input, after: never}
outputs: {said: first, decided: person}
options: {labels: {kind: test}}
`

// With -o json every reading command prints what the API answers.
func TestJSONHasTheShapesOfTheAPI(t *testing.T) {
	elsewhere(t)
	write(t, "shapely.yaml", shapely)
	url := urlOf(t, running(t, "shapely.yaml"))
	succeed(t, "start", "shapely", "name=ann", "--id", "w")
	if code, _, _ := heddle(t, "", "start", "shapely", "--id", "w"); code != codeFailed {
		t.Errorf("the second start: exit %d", code)
	}
	eventually(t, "all is at rest but the person", func() bool {
		out := succeed(t, "get", "w")
		return strings.Contains(out, "1 active") && strings.Contains(out, "1 completed") && strings.Contains(out, "1 skipped")
	})
	if out := succeed(t, "keys", "people"); !strings.Contains(out, "1 of 2 permits are held, 0 wait") || !strings.Contains(out, "holds  w ") {
		t.Errorf("heddle keys people:\n%s", out)
	}
	if out := succeed(t, "keys", "people", "--kind", "rate"); !strings.Contains(out, "1 of 3 permits were granted within 1h0m0s, 2 more may be at once, 0 wait") {
		t.Errorf("heddle keys people --kind rate:\n%s", out)
	}
	if out := succeed(t, "keys", "people", "--kind", "breaker"); !strings.Contains(out, "breaker people: closed; 0 failed in a row, 3 open it; 1 permits are held, 0 wait") {
		t.Errorf("heddle keys people --kind breaker:\n%s", out)
	}
	if out := succeed(t, "keys"); !strings.Contains(out, "concurrency  people  1     2") || !strings.Contains(out, "rate         people  1     3 in 1h0m0s") || !strings.Contains(out, "breaker      people  1     0 of 3 failed  0     closed") {
		t.Errorf("heddle keys:\n%s", out)
	}
	for _, c := range []struct {
		args []string
		path string
	}{
		{[]string{"get", "w"}, "/v1/workflows/w"},
		{[]string{"lookup", "w"}, "/v1/workflows/w/lookup"},
		{[]string{"list"}, "/v1/workflows"},
		{[]string{"runnables", "w"}, "/v1/workflows/w/runnables"},
		{[]string{"explain", "w"}, "/v1/workflows/w/explain"},
		{[]string{"queues"}, "/v1/queues"},
		{[]string{"keys"}, "/v1/keys"},
		{[]string{"keys", "--kind", "rate"}, "/v1/keys?kind=rate"},
		{[]string{"keys", "--limit", "1"}, "/v1/keys?limit=1"},
		{[]string{"keys", "people"}, "/v1/keys/people"},
		{[]string{"keys", "people", "--kind", "rate"}, "/v1/keys/people?kind=rate"},
		{[]string{"keys", "people", "--kind", "breaker"}, "/v1/keys/people?kind=breaker"},
		{[]string{"keys", "nobody/waits"}, "/v1/keys/nobody%2Fwaits"},
		{[]string{"results", "w"}, "/v1/workflows/w/results"},
		{[]string{"results", "w", "--all"}, "/v1/workflows/w/results?all=true"},
		{[]string{"results", "w", "--components"}, "/v1/workflows/w/productions"},
		{[]string{"history", "w"}, "/v1/workflows/w/history"},
		{[]string{"history", "w", "--limit", "2"}, "/v1/workflows/w/history?limit=2"},
		{[]string{"graph", "w"}, "/v1/workflows/w/graph"},
		{[]string{"definitions"}, "/v1/definitions"},
		{[]string{"definitions", "shapely"}, "/v1/definitions/shapely/versions"},
		{[]string{"get", "nobody"}, "/v1/workflows/nobody"},
		{[]string{"lookup", "nobody"}, "/v1/workflows/nobody"},
		{[]string{"history", "nobody"}, "/v1/workflows/nobody/history"},
		{[]string{"definitions", "nobody"}, "/v1/definitions/nobody/versions"},
	} {
		_, out, err := heddle(t, "", append(c.args, "-o", "json")...)
		got, want := decoded(t, out+err), asked(t, url+c.path)
		if !reflect.DeepEqual(got, want) {
			a, _ := json.MarshalIndent(got, "", " ")
			b, _ := json.MarshalIndent(want, "", " ")
			t.Errorf("heddle %s -o json:\n%s\nthe API:\n%s", strings.Join(c.args, " "), a, b)
		}
	}
}

// urlOf is the gateway's address in what `heddle dev` says.
func urlOf(t *testing.T, out *output) string {
	t.Helper()
	_, rest, ok := strings.Cut(out.String(), "http://")
	if !ok {
		t.Fatalf("no address in %s", out)
	}
	return "http://" + strings.TrimRight(strings.FieldsFunc(rest, func(r rune) bool { return r == '\n' || r == ' ' })[0], "/")
}
