package history

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
)

// Graph is the answer to a graph query: the definition that the run is pinned
// to and the status of its components.
type Graph struct {
	Digest     string            `json:"digest"`
	Definition json.RawMessage   `json:"definition"`
	States     map[string]string `json:"states"`
	Numbers    []string          `json:"numbers,omitempty"` // names of components in the order of their numbers, if that is not their own

	graph *definition.Graph
}

// ParseGraph reads the body of an answer.
func ParseGraph(body []byte) (*Graph, error) {
	g := &Graph{}
	if err := json.Unmarshal(body, g); err != nil {
		return nil, fmt.Errorf("decode the graph: %w", err)
	}
	compiled, err := compile(g.Definition, g.Numbers)
	if err != nil {
		return nil, err
	}
	g.graph = compiled
	return g, nil
}

func compile(canonical []byte, names []string) (*definition.Graph, error) {
	d, err := definition.Parse(canonical)
	if err != nil {
		return nil, fmt.Errorf("read the run's definition: %w", err)
	}
	g, err := definition.CompileAs(d, definition.Numbering{Components: names})
	if err != nil {
		return nil, fmt.Errorf("compile the run's definition: %w", err)
	}
	return g, nil
}

// Components are the components' names in the order of their indexes.
func (g *Graph) Components() []string {
	names := make([]string, len(g.graph.Components))
	for i, c := range g.graph.Components {
		names[i] = c.Name
	}
	return names
}

func (g *Graph) status(i int) string { return g.States[g.graph.Components[i].Name] }

// Mermaid draws the graph with its live status.
func (g *Graph) Mermaid() string { return definition.Mermaid(g.graph, g.status) }

// JSON is the graph with its live status for programs.
func (g *Graph) JSON() ([]byte, error) {
	b, err := json.Marshal(g.graph.Render(g.status))
	if err != nil {
		return nil, fmt.Errorf("encode the graph: %w", err)
	}
	return b, nil
}
