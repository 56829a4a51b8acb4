package main

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
)

// graphCmd prints the graph of a workflow, with what each component is at, or
// of a definition file.
type graphCmd struct {
	remote
	ID     string `arg:"" help:"The workflow, or a definition file."`
	Format string `env:"-" short:"f" enum:"mermaid,json" default:"mermaid" help:"${enum}."`
}

// Run implements the command.
func (c *graphCmd) Run(a *app) error {
	format := c.Format
	if a.json {
		format = "json"
	}
	graph, err := c.graph(a, format)
	if err != nil {
		return err
	}
	text := string(graph)
	if format != "json" {
		text = drawing(text)
	}
	fmt.Fprintln(a.out, text)
	return nil
}

func (c *graphCmd) graph(a *app, format string) ([]byte, error) {
	if isFile(c.ID) {
		return a.fileGraph(c.ID, format)
	}
	cl, err := c.open(a)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return cl.Graph(a, c.ID, format)
}

func (a *app) fileGraph(file, format string) ([]byte, error) {
	def, err := a.readDefinition(file)
	if err != nil {
		return nil, err
	}
	g, err := definition.Compile(def)
	if err != nil {
		return nil, err
	}
	if format == "json" {
		return g.JSON()
	}
	return []byte(definition.Mermaid(g, nil)), nil
}
