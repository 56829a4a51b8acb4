package definition_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
)

// Each error has its line and column, of YAML and of JSON.
func TestErrorsHaveTheirPlaceInTheSource(t *testing.T) {
	for src, want := range map[string]string{
		"name: t\ncomponents:\n  a: {stpe: x}\n":                            "[components.a 3:3 components.a.stpe 3:7]",
		"name: t\ncomponents:\n  a:\n    step: x\n    after: [nobody, a]\n": "[components.a.after[0] 5:13]",
		"name: t\n": "[components 1:1]",
		"{\n \"name\": \"t\",\n \"components\": {\n  \"a\": {\"expr\": \"1 +\"}}}":        "[components.a.expr 4:9]",
		"name: t\ncomponents: {a: {step: x}}\noptions: {labels: {a.b: 1, a.b/c: {$: 1}}}": "[options.labels.a.b/c.$ 3:36]",
		"name: t\ncomponents:\n  a: {step: x\n  b: {step: y}\n":                           "[ 4:4]",
		"name: t\ncomponents:\n\ta: {step: x}\n":                                          "[ 3:1]",
		"{\n \"name\": \"t\",\n \"components\" {}}":                                       "[ 3:15]",
		"name: t\nx: &x {stpe: y}\ncomponents:\n  a: *x\n":                                "[components.a 4:3 components.a.stpe 2:8 x 2:1]",
	} {
		_, err := definition.Parse([]byte(src))
		var list definition.Errors
		if !errors.As(err, &list) {
			t.Errorf("%q: %v", src, err)
			continue
		}
		var got []string
		for _, e := range list {
			got = append(got, fmt.Sprintf("%s %d:%d", e.Path, e.Line, e.Column))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s\ngot  %s\nwant %s\n%v", src, got, want, err)
		}
	}
}

// Tabs are the first thing that goes wrong in YAML, and the library does not name them.
func TestTabsAreNamed(t *testing.T) {
	checkRefused(t, []refusal{
		{"name: t\ncomponents:\n\ta: {step: x}\n", "", "(indent it by spaces"},
		{"name: t\ncomponents:\n  a:\n  \tstep: x\n", "", "(indent it by spaces"},
	})
	_, err := definition.Parse([]byte("name: [\tt"))
	if err == nil || strings.Contains(err.Error(), "spaces") {
		t.Errorf("a tab that does no harm: %v", err)
	}
}

// So are the characters of YAML in a text that is not quoted, as expressions have, and lines that stand beside nothing.
func TestWhatYAMLTripsOverIsNamed(t *testing.T) {
	const quote = "(quote a text that has one of : # , { } [ ] in it)"
	checkRefused(t, []refusal{
		{parts("a: {expr: input.x ? 1 : 2}"), "", quote},
		{"name: t\ncomponents:\n  a:\n    expr: input.x ? 1 : 2\n", "", quote},
		{"name: t\ncomponents:\n  a:\n    step: x\n   after: b\n", "", "(indent it as far as what it stands beside)"},
		{"name: t\ncomponents:\n  a:\n  step: x\n", "components.a", "and is empty (what belongs to it is indented below it; write {step: task})"},
	})
}

// One mistake is one error, and has its place.
func TestAMistakeIsToldOnce(t *testing.T) {
	for _, src := range []string{
		parts("a: {step: x}, c: {step: x, after: {first: {of: a}}}"),
		parts("a: {idle_for: 10m, of: [b]}, b: {step: x}"),
		parts("a: {idle_for: 10m, of: m.x}, m: {map: input, do: {x: {step: f}}}"),
		parts("a: {signal: go, schema: {type: thing}}"),
		parts("b: {step: x, after: a/reactor/0}, a: {state_machine: state + input, init: 0, reactors: [{when: state > 1, then: {expr: state}}]}"),
	} {
		_, err := definition.Parse([]byte(src))
		var all definition.Errors
		if !errors.As(err, &all) || len(all) != 1 || all[0].Path == "" {
			t.Errorf("%s\n%v", src, err)
		}
	}
}
