package planner

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// What became of an attempt that was lost is told of that attempt, and without a time: it had ended before. That nobody
// knows is told, too.
func TestWhatBecameOfALostAttemptIsToldOfIt(t *testing.T) {
	for _, c := range []struct {
		name, policy, script string
		want                 []string
	}{
		{"it comes after all", "{on_lost: hold}", "lose w s\narrive w s\nrun", []string{
			"RunnableDispatched 1", "RunnableLost 1 uncertain", "OutcomeArrived 1", "RunnableCompleted 1 late",
		}},
		{"somebody says it", "{on_lost: hold}", "lose w s\ncomplete-external w s 50\nrun", []string{
			"RunnableDispatched 1", "RunnableLost 1 uncertain", "OutcomeArrived 1", "RunnableCompleted 1 late",
		}},
		{"a probe says it", "{on_lost: {probe: f.probed-completed}}", "lose w s\nrun", []string{
			"RunnableDispatched 1", "RunnableLost 1", "RunnableDispatched 2", "ProbeAnswered 2", "RunnableCompleted 1 late",
		}},
		{"nobody lost it", "{max_retries: 1}", "run", []string{"RunnableDispatched 1", "RunnableCompleted 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, setting{name: "plain"})
			w.telling = true
			if wrong := w.define("d", "name: d\ncomponents: {s: {step: f.inc, policy: "+c.policy+"}}"); wrong != "" {
				t.Fatal(wrong)
			}
			var said bytes.Buffer
			for _, line := range strings.Split("start w d 5\n"+c.script, "\n") {
				w.line(&said, line)
			}
			var got []string
			for _, h := range w.heard {
				if h.Runnable == 0 {
					continue
				}
				line := fmt.Sprintf("%s %d", events.Name(h.Event), h.Attempt)
				if h.Late {
					line += " late"
				}
				if h.Uncertain {
					line += " uncertain"
				}
				if h.Late != (h.Since == 0) {
					t.Errorf("%s: since %d", line, h.Since)
				}
				got = append(got, line)
			}
			if said.Len() > 0 || !slices.Equal(got, c.want) {
				t.Errorf("told %q, want %q; %s", got, c.want, said.String())
			}
		})
	}
}
