package definition_test

import (
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
)

// Whatever a component names as what feeds it, wherever the two stand: it is accepted or an error with a path.
func TestAnyNameMayStandAnywhere(t *testing.T) {
	forms := []string{
		"step: f, after: %[1]s", "step: f, in: {v: %[1]s, w: a}", "step: f, in: {v: %[1]s?}", "step: f, after: {any: [%[1]s, a]}",
		"step: f, after: {first: {of: [%[1]s, a]}}", "step: f, else: %[1]s", "step: f, catch: %[1]s", "step: f, after: %[1]s, when: input",
		"step: f, catch: %[1]s, when: input", "idle_for: 1s, of: %[1]s", "reduce: %[1]s, with: acc", "rule: {all_of: [%[1]s], then: {step: f}}",
		"condition: 'states[\"%[1]s\"]'", "map: input, after: %[1]s, do: {z: {step: f, after: a}}", "map: input, do: {z: {step: f, catch: %[1]s}}",
		"map: input, do: {z: {step: f, in: {v: %[1]s, w: c?}}}", "map: input, do: {z: {reduce: %[1]s, with: acc}}",
	}
	names := []string{"a", "c", "m", "x", "m.x", "n", "m.n", "y", "n.y", "m.n.y", "s", "s/reactor/0", "g", "g/remind", "r", "r/then", "p", "z", "q", "input", "nothing"}
	const around = `name: t
components:
  a: {step: f}
  c: {condition: input}
  s: {state_machine: state + 1, init: 0, after: c, reactors: [{when: state > 1, then: {step: f}}]}
  g: {signal: go, remind: {every: 1h, max: 1, do: {step: f}}}
  r: {rule: {all_of: [c], then: {step: f}}}
%s
  m:
    map: input
    do:
      x: {condition: input}
%s
      n:
        map: input
        do:
          y: {step: f}
%s
  q: {reduce: m.x, with: acc}
`
	for _, form := range forms {
		for _, name := range names {
			for at, indent := range []string{"  ", "      ", "          "} {
				place := [3]any{"", "", ""}
				place[at] = fmt.Sprintf("%[2]sp: {"+form+"}", name, indent)
				accepted(t, fmt.Sprintf(around, place[:]...))
			}
		}
	}
}

// accepted parses a definition, which must give no error or Errors that have paths.
func accepted(t *testing.T, src string) {
	t.Helper()
	defer func() {
		if defect := recover(); defect != nil {
			t.Errorf("%s\nmet a defect: %v", src, defect)
		}
	}()
	_, err := definition.Parse([]byte(src))
	if err == nil {
		return
	}
	for _, e := range err.(definition.Errors) {
		if e.Path == "" {
			t.Errorf("%s\nwas refused without a place: %v", src, err)
		}
	}
}
