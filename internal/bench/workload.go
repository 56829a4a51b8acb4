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
	Steps int // tasks that one workflow runs

	Definition json.RawMessage // of every workflow, registered before
}

// Workloads are the names of all workloads.
var Workloads = []string{"single", "chain10", "fanout100"}

// Find is the workload of a name.
func Find(name string) (Workload, error) {
	switch name {
	case "single":
		return chain(name, 1), nil
	case "chain10":
		return chain(name, 10), nil
	case "fanout100":
		return fanout(name, 100), nil
	}
	return Workload{}, fmt.Errorf("there is no workload %q, only %s", name, strings.Join(Workloads, ", "))
}

// component is one entry of a definition.
type component struct {
	Step  string `json:"step,omitempty"`
	Expr  string `json:"expr,omitempty"`
	After any    `json:"after,omitempty"`
}

// definitionName is the name that the workload's definition is registered under.
func (w Workload) definitionName() string { return "bench-" + w.Name }

// define makes a workload; closes says when its workflows close.
func define(name string, steps int, components map[string]component, closes string) Workload {
	w := Workload{Name: name, Steps: steps}
	doc := struct {
		Name       string               `json:"name"`
		Version    string               `json:"version"`
		Components map[string]component `json:"components"`
		Options    map[string]string    `json:"options"`
	}{w.definitionName(), "1", components, map[string]string{"close": closes}}
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
	return define(name, n, components, "on_idle")
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
	return define(name, n, components, "on_idle")
}

func stepName(i int) string { return fmt.Sprintf("s%03d", i) }
