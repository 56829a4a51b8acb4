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

// A run that was migrated has numbers of its own: its attempts are told with the names of its components, also where
// other runs have the same definition with other numbers.
func TestAMigratedRunIsToldWithItsOwnNames(t *testing.T) {
	w := newWorld(t, setting{name: "plain"})
	w.telling = true
	for name, text := range map[string]string{
		"d": "name: d\ncomponents: {a: {step: f.inc}, b: {step: f.inc}, z: {step: f.inc}}",
		"e": "name: e\ncomponents: {k: {step: f.dbl}, z: {step: f.inc}}",
	} {
		if wrong := w.define(name, text); wrong != "" {
			t.Fatal(wrong)
		}
	}
	var said bytes.Buffer
	for _, line := range []string{"start other e 1", "start w d 1", "run", "pause w", `migrate w {"definition":"e"}`, "resume w", "input w 2", "run"} {
		w.line(&said, line)
	}
	var got []string
	for _, h := range w.heard {
		if e, is := h.Event.(*events.RunnableCompleted); is {
			got = append(got, fmt.Sprintf("%s %s %s", e.Runnable, h.Component, h.Task))
		}
	}
	slices.Sort(got)
	if want := []string{
		"r1 a f.inc", "r1 k f.dbl", "r2 b f.inc", "r2 z f.inc", "r3 z f.inc", "r4 z f.inc", "r5 k f.dbl",
	}; said.Len() > 0 || !slices.Equal(got, want) {
		t.Errorf("told %q, want %q; %s", got, want, said.String())
	}
}
