package workload

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// summed is the journal of a state machine that adds 5 to 3, with a reactor and somebody who looks on,
// for two inputs, of which the first is forgotten.
func summed() []events.Event {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	input := func(f events.FactID) []events.FactID { return []events.FactID{f} }
	return []events.Event{
		&events.WorkflowStarted{},
		&events.InputAccepted{Fact: 1, Value: raw("10")},
		&events.StateChanged{Fact: 2, Scope: 1, Value: raw("3")},
		&events.StateChanged{Fact: 3, Scope: 1, Parents: input(1), Value: raw("8")},
		&events.FactProduced{Fact: 4, Component: 1, Scope: 1, Parents: input(3), Value: raw("0")},
		&events.FactProduced{Fact: 5, Component: 2, Scope: 1, Parents: input(1), Value: raw("3")},
		&events.InputSettled{Scope: 1},
		&events.InputAccepted{Fact: 6, Value: raw("20")},
		&events.FactProduced{Fact: 7, Component: 2, Scope: 6, Parents: input(6), Value: raw("8")},
		&events.StateChanged{Fact: 8, Scope: 6, Parents: input(6), Value: raw("13")},
		&events.FactProduced{Fact: 9, Component: 1, Scope: 6, Parents: input(8), Value: raw("0")},
		&events.InputSettled{Scope: 6},
		&events.FactsDropped{Scope: 1, Facts: 5, Forgotten: true},
	}
}

func TestStatesAreFoldedAgain(t *testing.T) {
	machine := &Component{Name: "a", kind: pure, add: 5, shape: number, sums: &summing{init: 3, machine: true}}
	reactor := &Component{Name: "a/reactor/0", kind: pure, shape: number, late: true, reacts: &reaction{above: 7, level: true}}
	machine.sums.parts = []*Component{reactor}
	plan := &Plan{Workflows: []*Workflow{{ID: "w", Graph: &Graph{
		Components: []*Component{machine, reactor, {Name: "b", kind: pure, shape: number, looks: machine}},
		options:    map[string]any{"keep": map[string]any{"facts": 4}},
	}}}}
	value := func(n int, v string) func([]events.Event) []events.Event {
		return func(list []events.Event) []events.Event {
			switch e := list[n].(type) {
			case *events.StateChanged:
				e.Value = json.RawMessage(v)
			case *events.FactProduced:
				e.Value = json.RawMessage(v)
			}
			return list
		}
	}
	without := func(n int) func([]events.Event) []events.Event {
		return func(list []events.Event) []events.Event { return slices.Delete(list, n, n+1) }
	}
	for name, c := range map[string]struct {
		change func([]events.Event) []events.Event
		want   string // in the complaint; empty: there is none
	}{
		"as it is told":                        {func(list []events.Event) []events.Event { return list }, ""},
		"it begins with another state":         {value(2, "4"), "begins with 4, want 3"},
		"it does not begin":                    {without(2), "it has begun: false"},
		"it begins again":                      {func(list []events.Event) []events.Event { list[3] = list[2]; return list }, "it had begun: true"},
		"two are folded into one state":        {value(9, "8"), "has the state 8, want 13"},
		"one is folded twice":                  {value(3, "13"), "has the state 13, want 8"},
		"a reactor does not run":               {without(4), "does not run for the state f3"},
		"a reactor runs for no state of its":   {func(list []events.Event) []events.Event { reactor.reacts.above = 9; return list }, "runs for the state f3"},
		"an input sees what it has folded":     {value(5, "8"), "whose state input f1 sees as 3"},
		"an input sees what is gone":           {value(8, "3"), "whose state input f6 sees as 8"},
		"the newest facts are forgotten":       {func(list []events.Event) []events.Event { list[12].(*events.FactsDropped).Scope = 6; return list }, "input f6 is forgotten"},
		"an input is forgotten before its due": {func(list []events.Event) []events.Event { return slices.Insert(list, 7, list[12]) }, "input f1 is forgotten up to fact 5"},
		"an input is not forgotten":            {without(12), "input f1 of w is not forgotten"},
		"a fact is missing":                    {without(5), "fact f6 follows f4"},
	} {
		reactor.reacts.above = 7
		list := c.change(summed())
		err := CheckJournal(plan, NewTaskMemory(), false, nil, []*events.Record{{Workflow: "w", Position: events.Position{Epoch: 1, Seq: 1}, Events: list}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// What a task folds has its attempts in the order in which it arrived.
func TestAFoldWaitsForItsTurn(t *testing.T) {
	task := &Component{Name: "a", kind: step, add: 5, shape: number, sums: &summing{}}
	plan := &Plan{Workflows: []*Workflow{{ID: "w", Graph: &Graph{Components: []*Component{task}}}}}
	ready := func(id events.RunnableID) events.Event {
		return &events.RunnableReady{Runnable: id, Scope: 1, Parents: []events.FactID{1}, Policy: policy.Default().Append(nil)}
	}
	for second, complains := range map[events.RunnableID]bool{1: false, 2: true} {
		err := CheckJournal(plan, NewTaskMemory(), false, nil, []*events.Record{{Workflow: "w", Position: events.Position{Epoch: 1, Seq: 1}, Events: []events.Event{
			&events.WorkflowStarted{}, &events.InputAccepted{Fact: 1, Value: json.RawMessage("1")}, ready(1), ready(2),
			&events.RunnableDispatched{Runnable: second, Attempt: 1, Queue: "default"},
		}}})
		if strings.Contains(err.Error(), "before its turn") != complains {
			t.Errorf("the first attempt is of r%d: %v", second, err)
		}
	}
}

// States are summed up over all inputs: where each adds the same, all are known, and what comes of
// them; else the last one is, and how many there are.
func TestTheOracleKnowsStates(t *testing.T) {
	for mul, want := range map[int64]struct {
		productions map[string]string
		numbers     map[string]int
		output      string
	}{
		0: {map[string]string{"a": "2,3,4", "a/reactor/0": "8"}, map[string]int{"b": 2}, "4"},
		1: {map[string]string{"a/reactor/0": ""}, map[string]int{"a": 3, "b": 2, "a/reactor/0": 1}, "34"},
	} {
		c := &Component{Name: "a", kind: pure, mul: mul, add: 1, shape: number, sums: &summing{init: 2, machine: true}}
		r := &Component{Name: "a/reactor/0", kind: pure, mul: 2, shape: number, arms: []arm{{parent: 0}}, late: true, reacts: &reaction{above: 3}}
		c.sums.parts = []*Component{r}
		g := &Graph{Components: []*Component{c, r, {Name: "b", kind: pure, shape: number, looks: c}}}
		e := g.Expected([]int64{10, 20})
		for name, list := range want.productions {
			if got := strings.Join(e.Productions[name], ","); got != list {
				t.Errorf("where states differ by the input %d times: %s produces %s, want %s", mul, name, got, list)
			}
		}
		for name, n := range want.numbers {
			if e.numbers[name] != n {
				t.Errorf("where states differ by the input %d times: %s produces %d values, want %d", mul, name, e.numbers[name], n)
			}
		}
		if got := e.Outputs["a"]; len(got) != 1 || got[0] != want.output {
			t.Errorf("where states differ by the input %d times: it comes to %v, want %s", mul, got, want.output)
		}
	}
}
