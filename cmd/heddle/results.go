package main

import (
	"fmt"
	"io"
)

// resultsCmd prints the results of a workflow.
type resultsCmd struct {
	remote
	ID         string `arg:"" help:"The workflow."`
	All        bool   `env:"-" xor:"what" help:"Every value in order of production instead of the latest."`
	Components bool   `env:"-" xor:"what" help:"What every component has produced instead of the outputs."`
}

// Run implements the command.
func (c *resultsCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	switch {
	case c.Components:
		all, err := cl.Productions(a, c.ID)
		if err != nil {
			return err
		}
		return a.print(map[string]any{"productions": all}, func(w io.Writer) { printLists(w, all) })
	case c.All:
		all, err := cl.AllResults(a, c.ID)
		if err != nil {
			return err
		}
		return a.print(all, func(w io.Writer) { printLists(w, all.Results) })
	}
	r, err := cl.Results(a, c.ID)
	if err != nil {
		return err
	}
	return a.print(r, func(w io.Writer) {
		fmt.Fprintf(w, "%s  %s\n", shown(c.ID), shown(r.Status))
		printValues(w, r.Results)
	})
}
