package planner

import (
	"fmt"
	"strings"
	"testing"
)

// Signals that nobody takes are bounded in number and in bytes; those that somebody waits
// for are not counted.
func TestSignalsThatNobodyTakesAreBounded(t *testing.T) {
	for name, value := range map[string]string{"number": "1", "bytes": `"` + strings.Repeat("x", 100_000) + `"`} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setting{})
			w.define("d", "name: d\ncomponents: {s: {signal: go}, k: {signal: go, key: input}}")
			w.command("w", "start", `{"definition":"d","input":"k"}`)
			body := fmt.Sprintf(`{"name":"go","key":"other","input":%s}`, value)
			n := 0
			for ; n <= maxSignals; n++ {
				if r := w.command("w", "signal", body); r.Refusal != nil {
					if r.Refusal.Code != "too_many_signals" {
						t.Fatalf("signal %d: %+v", n, r.Refusal)
					}
					break
				}
			}
			if want := min(maxSignals, maxSignalBytes/len(value)); n != want {
				t.Fatalf("%d signals are kept, want %d", n, want)
			}
			if s := w.status("w").Signals; s == nil || int(s.Count) != n || len(s.First) == 0 {
				t.Fatalf("the summary has %+v", s)
			}
			if r := w.command("w", "signal", `{"name":"go","input":2}`); r.Refusal != nil {
				t.Fatalf("one that somebody waits for: %+v", r.Refusal)
			}
			w.conserved("w")
			w.command("w", "delete", `{"force":true}`)
			for more := true; more; {
				more = w.inHand("w")
				if more {
					w.goesOn("w")
				}
			}
			for _, k := range w.state.Keys() {
				if k.Workflow == "w" {
					t.Fatalf("behind the deletion there is the row %v", k)
				}
			}
		})
	}
}

// A person reads what a runnable waits for.
func TestWhatIsWaitedForIsSaid(t *testing.T) {
	w := newWorld(t, setting{})
	w.define("d", `
name: d
components:
  a: {until: "1970-01-02T00:00:00Z"}
  b: {idle_for: 1h, of: a}
  c: {signal: go}
  d: {signal: paid, key: input.order, timeout: 1h}
  e: {signal: go, timeout: 1h, remind: {every: 1m, max: 3, do: {expr: "1"}}}
`)
	w.command("w", "start", `{"definition":"d","input":{"order":"o7"}}`)
	want := map[string]string{"a": "its time", "b": `silence of "a"`, "c": `the signal "go"`, "d": `the signal "paid" with the key "o7"; gives up`, "e": `the signal "go"; reminds`}
	for _, r := range w.openRunnables("w") {
		if r.WaitsFor != want[r.Component] || (r.DueAt == nil) != (r.Component == "c") {
			t.Errorf("%s waits for %q, until %v; want %q", r.Component, r.WaitsFor, r.DueAt, want[r.Component])
		}
	}
}
