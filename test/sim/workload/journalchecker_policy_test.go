package workload

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// story is a run of one step that fails once, by the rules of a definition, of its
// run and of its input.
type story struct {
	started  events.WorkflowStarted
	accepted events.InputAccepted
	ready    events.RunnableReady
	first    events.RunnableDispatched
	failed   events.RunnableFailed
	retry    events.RetryScheduled
}

func TestPoliciesAreHeldAgainstTheRules(t *testing.T) {
	step := &Component{Name: "a", own: own(true, fields{"queue": "orders"})}
	definition := Rules{{match: "default", fits: fitsAll, fields: fields{"max_retries": 3, "queue": "late", "backoff": "linear", "base_delay_ms": 100}}}
	run := Rules{{match: "default", fits: fitsAll, inherit: true, fields: fields{"max_delay_ms": 70}}}
	input := Rules{{match: "default", fits: fitsAll, inherit: true, fields: fields{"max_retries": 1}}}
	plan := &Plan{Workflows: []*Workflow{{
		ID: "w", Graph: &Graph{Components: []*Component{step}, rules: definition}, Rules: run, More: []Deed{{Rules: input}},
	}}}

	ruled := policy.Default()
	ruled.MaxRetries, ruled.Queue, ruled.Backoff, ruled.BaseDelay, ruled.MaxDelay = 1, "orders", policy.Linear, 100e6, 70e6
	other, alone := ruled, policy.Default()
	other.MaxRetries, alone.MaxRetries = 3, 1
	for name, c := range map[string]struct {
		change func(*story)
		want   string // in the complaint; empty: there is none
	}{
		"as it is told":            {func(*story) {}, ""},
		"rules of nobody":          {func(s *story) { s.started.Policies = json.RawMessage(`[{"match":"default"}]`) }, "which nobody gave"},
		"the input's do not count": {func(s *story) { s.ready.Policy = other.Append(nil) }, "its rules give it"},
		"the input's alone": {func(s *story) {
			s.accepted.Replace, s.ready.Policy, s.first.Queue, s.retry.Due = true, alone.Append(nil), "default", 1000
		}, ""},
		"alone, and others count": {func(s *story) { s.accepted.Replace = true }, "its rules give it"},
		"another queue":           {func(s *story) { s.first.Queue = "late" }, `goes to the queue "late"`},
		"too early":               {func(s *story) { s.retry.Due-- }, "waits 69 ms"},
		"too late":                {func(s *story) { s.retry.Due++ }, "waits 71 ms"},
	} {
		s := &story{
			started:  events.WorkflowStarted{Policies: json.RawMessage(run.text())},
			accepted: events.InputAccepted{Fact: 1, Policies: json.RawMessage(input.text())},
			ready:    events.RunnableReady{Runnable: 1, Scope: 1, Policy: ruled.Append(nil)},
			first:    events.RunnableDispatched{Runnable: 1, Attempt: 1, Queue: "orders"},
			failed:   events.RunnableFailed{Runnable: 1, Action: events.ActionRetry, Executor: "t"},
			retry:    events.RetryScheduled{Runnable: 1, Due: 1070},
		}
		c.change(s)
		second := s.first
		second.Attempt++
		id := events.Position{Epoch: 1, Seq: 1}
		memory := NewTaskMemory()
		for attempt := range uint32(2) {
			memory.ran[attemptID{"w", id, 1, attempt + 1}] = map[string]bool{"t": true}
		}
		err := CheckJournal(plan, memory, false, nil, []*events.Record{{Workflow: "w", Position: id, Time: 1000, Events: []events.Event{
			&s.started, &s.accepted, &s.ready, &s.first, &s.failed, &s.retry, &second,
			&events.RunnableCompleted{Runnable: 1, Executor: "t"}, &events.InputSettled{Scope: 1},
		}}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestWaitsAreThoseOfTheBackoff(t *testing.T) {
	for _, c := range []struct {
		backoff        policy.Backoff
		failures       int
		asked          int64
		least, longest int64
	}{
		{policy.None, 3, 0, 0, 0},
		{policy.None, 3, 20, 20, 20},
		{policy.Linear, 3, 0, 300, 300},
		{policy.Linear, 9, 0, 500, 500},
		{policy.Exponential, 3, 20, 400, 400},
		{policy.Exponential, 90, 0, 500, 500},
		{policy.Jitter, 2, 0, 1, 200},
		{policy.Jitter, 2, 50, 50, 200},
	} {
		p := policy.Policy{Backoff: c.backoff, BaseDelay: 100e6, MaxDelay: 500e6}
		if least, longest := pause(p, c.failures, c.asked); least != c.least || longest != c.longest {
			t.Errorf("%+v: %d to %d", c, least, longest)
		}
	}
}
