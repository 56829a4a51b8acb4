package planner

import (
	"strings"
	"testing"
)

// What a filter says that cannot be evaluated is in the message of the failure that it did
// not catch.
func TestAFilterThatCannotBeEvaluatedIsNamed(t *testing.T) {
	w := newWorld(t, setting{name: "plain"})
	w.define("d", `
name: d
components:
  a: {step: f.boom}
  b: {expr: input, catch: a, when: input.value.x > 1}
`)
	w.command("w", "start", `{"definition":"d","input":5}`)
	w.run()
	f := w.status("w").Failure
	if f == nil || f.Error.Type != "boom" || !strings.HasPrefix(f.Error.Message, "boom (b did not catch it: ") {
		t.Fatalf("the failure is %+v", f)
	}
}
