package main

import (
	"fmt"
	"io"

	"github.com/heddle-run/heddle/sdk/client"
)

// explainCmd says why a workflow is where it is.
type explainCmd struct {
	remote
	ID    string `arg:"" help:"The workflow."`
	Limit int    `env:"-" short:"n" default:"100" help:"At most so many runnables; 0 means all."`
}

// Run implements the command.
func (c *explainCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	why := explained{Reasons: []string{}}
	why.listed, err = collect(c.Limit, func(cursor string, limit int) (*client.Page[client.Runnable], error) {
		page, err := cl.Explain(a, c.ID, client.PageOptions{Cursor: cursor, Limit: limit})
		if err != nil {
			return nil, err
		}
		why.Status, why.Reasons = page.Status, page.Reasons
		return &page.Page, nil
	})
	if err != nil {
		return err
	}
	return a.print(why, func(w io.Writer) { printExplanation(w, c.ID, &why) })
}

// explained is an explanation in the form in which it is printed as JSON.
type explained struct {
	Status  client.Status `json:"status"`
	Reasons []string      `json:"reasons"`
	listed[client.Runnable]
}

func printExplanation(out io.Writer, id string, why *explained) {
	fmt.Fprintf(out, "%s is %s\n", shown(id), why.Status)
	for _, r := range why.Reasons {
		fmt.Fprintf(out, "  %s\n", shown(r))
	}
	if len(why.Items) == 0 {
		return
	}
	fmt.Fprintln(out)
	table := [][]string{{"RUNNABLE", "COMPONENT", "SCOPE", "STATUS", "ERROR OR WAITS FOR"}}
	for _, r := range why.Items {
		table = append(table, []string{r.ID, r.Component, r.Scope, string(r.Status), whatIsWrong(&r)})
	}
	rows(out, table)
	if why.Next != nil {
		fmt.Fprintf(out, "and more: heddle explain %s --limit 0\n", shown(id))
	}
}
