package definition_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/expr"
)

// only is the graph's one component.
func only(t *testing.T, component string) *definition.Component {
	t.Helper()
	return graph(t, parts("a: "+component)).Components[0]
}

func TestTheInputOfATask(t *testing.T) {
	for _, c := range []struct{ component, value, want string }{
		{`{step: x}`, `{"b": 1,  "a": 1e2}`, `{"b": 1,  "a": 1e2}`}, // untouched
		{`{step: x}`, `no JSON`, `no JSON`},                         // not decoded
		{`{step: x, input: "input.b + 1"}`, `{"b": 1}`, `2`},
		{`{step: x, input: "{b: input.b, f: context.f}"}`, `{"b": 1}`, `{"b":1,"f":7}`},
		{`{step: x, params: {}}`, `{"b": 1}`, `{"b":1}`},
		{`{step: x, params: {n: 2, m: [1.5, null]}}`, `{"b": [1, {"x":  2}]}`, `{"b":[1, {"x":  2}],"m":[1.5,null],"n":2}`},
		{`{step: x, params: {b: 2}}`, `{"b": 1, "c": 3}`, `{"b":2,"c":3}`}, // params win
		{`{step: x, params: {n: 2}}`, `5`, `{"input":5,"n":2}`},
		{`{step: x, params: {n: 2}}`, ` [1] `, `{"input":[1],"n":2}`},
		{`{step: x, params: {n: 2}}`, `"text"`, `{"input":"text","n":2}`},
		{`{step: x, params: {n: 2}}`, `null`, `{"n":2}`},
		{`{step: x, params: {n: 2}}`, ``, `{"n":2}`},
		{`{step: x, params: {n: {"$": "input.b * 2"}}}`, `{"b": 4}`, `{"b":4,"n":8}`},
		{`{step: x, params: {n: {deep: [{"$": "input.b"}, {x: {"$": "workflow.id"}}, lit]}}}`, `{"b": 4}`, `{"b":4,"n":{"deep":[4,{"x":"w1"},"lit"]}}`},
		{`{step: x, input: "{}", params: {n: {"$": "input.b"}}}`, `{"b": 4}`, `{"n":4}`}, // params see the value as it arrives
		{`{step: x, params: {"a<b": 1}}`, `{"é": 1}`, `{"a<b":1,"é":1}`},
	} {
		env := expr.Env{Input: json.RawMessage(c.value), Context: json.RawMessage(`{"f": 7}`), WorkflowID: "w1"}
		got, err := only(t, c.component).Shape(env)
		if err != nil || string(got) != c.want {
			t.Errorf("%s over %s: %s, %v; want %s", c.component, c.value, got, err, c.want)
		}
	}
}

func TestAnInputThatCannotBeShapedSaysWhere(t *testing.T) {
	for component, want := range map[string]string{
		`{step: x, input: "input.z"}`:              "input: expression",
		`{step: x, params: {n: {"$": "input.z"}}}`: "params.n: expression",
		`{step: x, params: {n: [{"$": "1 / 0"}]}}`: "params.n: expression",
	} {
		_, err := only(t, component).Shape(expr.Env{Input: json.RawMessage(`{"b": 1}`)})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v; want %s", component, err, want)
		}
	}
	_, err := only(t, `{step: x, params: {n: 1}}`).Shape(expr.Env{Input: json.RawMessage(`{"b": `)})
	if err == nil {
		t.Error("params are laid over what is no JSON")
	}
}

func TestAComponentsContextWins(t *testing.T) { // F13
	with := only(t, `{step: x, context: {off: 10, deep: {a: 1}}}`)
	for run, want := range map[string]string{
		``:                           `{"deep":{"a":1},"off":10}`,
		`{"off": 2, "other": [ 1 ]}`: `{"deep":{"a":1},"off":10,"other":[ 1 ]}`,
		`{"deep": {"b": 2}}`:         `{"deep":{"a":1},"off":10}`,
	} {
		if got, err := with.ContextOver(json.RawMessage(run)); err != nil || string(got) != want {
			t.Errorf("over %s: %s, %v; want %s", run, got, err, want)
		}
	}
	if got, err := with.ContextOver(json.RawMessage(`5`)); err == nil {
		t.Errorf("over a number: %s", got)
	}
	run := json.RawMessage(`{"off":  2}`)
	if got, err := only(t, `{step: x}`).ContextOver(run); err != nil || string(got) != string(run) {
		t.Errorf("without its own: %s, %v", got, err)
	}
}

func TestHowLongToSleep(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for component, want := range map[string]time.Duration{
		`{sleep: 5s}`:                5 * time.Second,
		`{sleep: PT1M}`:              time.Minute,
		`{sleep: 7d}`:                7 * 24 * time.Hour,
		`{sleep: 0s}`:                0,
		`{sleep_ms: 250}`:            250 * time.Millisecond,
		`{sleep: {"$": input.text}}`: 3 * time.Second,
		`{sleep: {"$": "duration(input.text) * 2"}}`:             6 * time.Second,
		`{sleep_ms: {"$": "input.ms"}}`:                          40 * time.Millisecond,
		`{sleep: {"$": "date('2026-01-01T01:00:00Z') - now()"}}`: time.Hour,
		`{sleep: {"$": "date('2025-01-01T01:00:00Z') - now()"}}`: 0, // the time has passed
		`{sleep_ms: {"$": "-5"}}`:                                0,
	} {
		got, err := only(t, component).Sleep.Of(expr.Env{Input: json.RawMessage(`{"text": "3s", "ms": 40}`), Now: now})
		if err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", component, got, err, want)
		}
	}
	for component, want := range map[string]string{
		`{sleep: {"$": input.ms}}`:              "must be a duration with its unit, such as 30s",
		`{sleep_ms: {"$": input.text}}`:         "must be an integer of milliseconds",
		`{sleep: {"$": "'soon'"}}`:              "is no duration",
		`{sleep: {"$": input.z}}`:               "no field `z`",
		`{sleep: {"$": "duration('200000h')"}}`: "longer than",
	} {
		_, err := only(t, component).Sleep.Of(expr.Env{Input: json.RawMessage(`{"text": "3s", "ms": 40}`), Now: now})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", component, err, want)
		}
	}
}
