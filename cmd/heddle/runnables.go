package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/heddle-run/heddle/sdk/client"
)

// runnablesCmd lists the runnables of a workflow.
type runnablesCmd struct {
	remote
	ID        string `arg:"" help:"The workflow."`
	Status    string `env:"-" help:"Only those with this status, as in active."`
	Component string `env:"-" help:"Only those of this component."`
	Tokens    bool   `env:"-" help:"Show the tokens of open and of uncertain attempts, for complete and fail."`
}

// Run implements the command.
func (c *runnablesCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	all, err := collect(0, func(cursor string, limit int) (*client.Page[client.Runnable], error) {
		return cl.Runnables(a, c.ID, client.PageOptions{Cursor: cursor, Limit: limit, Status: client.RunnableStatus(c.Status), Component: c.Component})
	})
	if err != nil {
		return err
	}
	return a.print(all, func(w io.Writer) { printRunnables(w, all.Items, c.Tokens) })
}

func printRunnables(w io.Writer, all []client.Runnable, tokens bool) {
	heading := []string{"ID", "COMPONENT", "SCOPE", "TASK", "STATUS", "ATTEMPT", "ERROR OR WAITS FOR"}
	if tokens {
		heading = append(heading, "TOKEN")
	}
	table := [][]string{heading}
	for _, r := range all {
		row := []string{r.ID, r.Component, r.Scope, r.Task, string(r.Status), strconv.Itoa(r.Attempt), whatIsWrong(&r)}
		if tokens {
			row = append(row, r.Token)
		}
		table = append(table, row)
	}
	rows(w, table)
}

// whatIsWrong is what a runnable waits for, or how it has failed, what it fell back to, and what its attempts keep.
func whatIsWrong(r *client.Runnable) string {
	var all []string
	if wait := waitsFor(r); wait != "" {
		all = append(all, wait)
	} else if r.Error != nil {
		all = append(all, r.Error.Type+": "+r.Error.Message)
	}
	if r.Fallback != "" {
		all = append(all, "fallback: "+r.Fallback)
	}
	if k := r.Kept; k != nil {
		all = append(all, fmt.Sprintf("it keeps %d keys of %d bytes", k.Keys, k.Bytes))
	}
	return strings.Join(all, "; ")
}
