package main

import (
	"fmt"
	"io"

	"github.com/heddle-run/heddle/sdk/client"
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
		return c.lists(a, cl, "productions")
	case c.All:
		return c.lists(a, cl, "results")
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

func (c *resultsCmd) lists(a *app, cl *client.Client, what string) error {
	get := cl.AllResults
	if what == "productions" {
		get = cl.Productions
	}
	lists, err := get(a, c.ID)
	if err != nil {
		return err
	}
	return a.print(map[string]any{what: lists}, func(w io.Writer) { printLists(w, lists) })
}
