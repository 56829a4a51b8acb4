package planner

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var (
	documentedStart   = regexp.MustCompile("\\| Kafka \\| `(\\{.+\\})` \\|")
	documentedGives   = regexp.MustCompile("That start gives `(.+?)`")
	documentedRefusal = regexp.MustCompile(`(?m)^missing_context at (\S+): (.+)$`)
)

// docs/context.md has a definition, a start and what it gives; and what that start is refused with
// that brings no context for a component.
func TestTheExampleOfContextGivesWhatItSays(t *testing.T) {
	raw, err := os.ReadFile("../../docs/context.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	found := func(r *regexp.Regexp) []string {
		t.Helper()
		m := r.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("the page has nothing like %s", r)
		}
		return m[1:]
	}
	w := newWorld(t, setting{name: "plain"})
	if wrong := w.define("invoice", found(documentedDefinition)[0]); wrong != "" {
		t.Fatal(wrong)
	}
	var start, bare map[string]any
	w.must(json.Unmarshal([]byte(found(documentedStart)[0]), &start))
	w.must(json.Unmarshal([]byte(found(documentedStart)[0]), &bare))
	delete(start, "command")
	delete(bare, "command")
	delete(bare, "component_context")

	refusal := w.command("v", "start", string(mustJSON(bare))).Refusal
	if want := found(documentedRefusal); refusal == nil || refusal.Code != "missing_context" || refusal.Path != want[0] || !strings.HasSuffix(refusal.Message, want[1]) {
		t.Errorf("without component_context: %+v, the page says %q", refusal, want)
	}
	if r := w.command("w", "start", string(mustJSON(start))); r.Refusal != nil {
		t.Fatalf("%+v", r.Refusal)
	}
	w.run()
	var got struct{ Results any }
	var want any
	w.must(json.Unmarshal(w.query("results", "w", false), &got))
	w.must(json.Unmarshal([]byte(found(documentedGives)[0]), &want))
	if !reflect.DeepEqual(got.Results, want) {
		t.Errorf("it gives %v, the page says %v", got.Results, want)
	}
}
