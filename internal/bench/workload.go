package bench

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Task is the task of every step: it returns its input.
const Task = "bench.echo"

// Queue is the task queue of Task.
const Queue = "bench"

// Workload is a shape of workflow to measure.
type Workload struct {
	Name  string
	Steps int // tasks that one workflow runs; folds, where it is fed

	Fed bool // each client has one workflow for all of its inputs, in place of one for each

	Definition json.RawMessage // of every workflow, registered before
}

// Workloads are the names of all workloads.
var Workloads = []string{"single", "chain10", "fanout100", "accumulate", "map10k"}

// Find is the workload of a name.
func Find(name string) (Workload, error) {
	switch name {
	case "single":
		return chain(name, 1), nil
	case "chain10":
		return chain(name, 10), nil
	case "fanout100":
		return fanout(name, 100), nil
	case "accumulate":
		return accumulate(name), nil
	case "map10k":
		return mapped(name, 10_000), nil
	}
	return Workload{}, fmt.Errorf("there is no workload %q, only %s", name, strings.Join(Workloads, ", "))
}

// component is one entry of a definition.
type component struct {
	Step  string `json:"step,omitempty"`
	Expr  string `json:"expr,omitempty"`
	After any    `json:"after,omitempty"`

	Accumulate string `json:"accumulate,omitempty"`
	Init       any    `json:"init,omitempty"`

	Map    string               `json:"map,omitempty"`
	Do     map[string]component `json:"do,omitempty"`
	Reduce string               `json:"reduce,omitempty"`
	With   string               `json:"with,omitempty"`
}

// DefinitionName is the name that the workload's definition is registered under.
func (w Workload) DefinitionName() string { return "bench-" + w.Name }

// define makes a workload.
func define(name string, steps int, components map[string]component, options map[string]any) Workload {
	w := Workload{Name: name, Steps: steps}
	doc := struct {
		Name       string               `json:"name"`
		Version    string               `json:"version"`
		Components map[string]component `json:"components"`
		Options    map[string]any       `json:"options"`
	}{w.DefinitionName(), "1", components, options}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(fmt.Sprintf("encode the definition of workload %s: %v", name, err))
	}
	w.Definition = b
	return w
}

// chain is n steps, one after the other.
func chain(name string, n int) Workload {
	components := map[string]component{}
	for i := range n {
		c := component{Step: Task}
		if i > 0 {
			c.After = stepName(i - 1)
		}
		components[stepName(i)] = c
	}
	return define(name, n, components, map[string]any{"close": "on_idle"})
}

// fanout is n steps on the same input, and a join of their results.
func fanout(name string, n int) Workload {
	components := map[string]component{}
	arms := make([]string, n)
	for i := range n {
		arms[i] = stepName(i)
		components[arms[i]] = component{Step: Task}
	}
	components["joined"] = component{Expr: "len(input)", After: arms}
	return define(name, n, components, map[string]any{"close": "on_idle"})
}

// kept is how many facts a workflow keeps that is fed.
const kept = 1000

// accumulate folds each input into the workflow's state, without a task.
func accumulate(name string) Workload {
	orders := component{Accumulate: "state + input.order", Init: json.RawMessage("0")}
	w := define(name, 1, map[string]component{"orders": orders}, map[string]any{"keep": map[string]int{"facts": kept}})
	w.Fed = true
	return w
}

// mapped is a step for each of n elements, and a reduce that counts what they give.
func mapped(name string, n int) Workload {
	components := map[string]component{
		"each":    {Map: fmt.Sprintf("1..%d", n), Do: map[string]component{stepName(0): {Step: Task}}},
		"counted": {Reduce: "each." + stepName(0), Init: 0, With: "acc + 1"},
	}
	return define(name, n, components, map[string]any{"close": "on_idle"})
}

func stepName(i int) string { return fmt.Sprintf("s%03d", i) }
