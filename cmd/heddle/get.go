package main

import (
	"context"
	"fmt"
	"io"

	"github.com/heddle-run/heddle/sdk/client"
)

// getCmd prints a workflow.
type getCmd struct {
	remote
	ID string `arg:"" help:"The workflow."`
}

// Run implements the command.
func (c *getCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	w, err := cl.Get(a, c.ID)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(w)
	}
	open, err := openRunnables(a, cl, w)
	if err != nil {
		return err
	}
	printWorkflow(a.out, w)
	printWaits(a.out, w, open)
	return nil
}

// maxWaits is how many runnables are shown with what they wait for.
const maxWaits = 10

// openRunnables are the first of those that are not done: active ones, then those
// that wait for a time, then those that wait for room.
func openRunnables(ctx context.Context, cl *client.Client, w *client.Workflow) ([]client.Runnable, error) {
	var all []client.Runnable
	for _, of := range []struct {
		status client.RunnableStatus
		n      uint64
	}{{client.RunnableActive, w.Counts.Active}, {client.RunnableWaiting, w.Counts.Waiting}, {client.RunnableReady, w.Counts.Ready}} {
		if of.n == 0 || len(all) == maxWaits {
			continue
		}
		page, err := cl.Runnables(ctx, w.ID, client.PageOptions{Status: of.status, Limit: maxWaits - len(all)})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
	}
	return all, nil
}

// printWaits says what the runnables that are not done wait for.
func printWaits(out io.Writer, w *client.Workflow, open []client.Runnable) {
	if len(open) == 0 {
		return
	}
	fmt.Fprintln(out)
	table := [][]string{{"RUNNABLE", "COMPONENT", "STATUS", "WAITS FOR"}}
	for _, r := range open {
		table = append(table, []string{r.ID, r.Component, string(r.Status), waitsFor(&r)})
	}
	rows(out, table)
	if all := w.Counts.Active + w.Counts.Waiting + w.Counts.Ready; all > uint64(len(open)) {
		fmt.Fprintf(out, "and %d more: heddle runnables %s\n", all-uint64(len(open)), shown(w.ID))
	}
}

// waitsFor is what a runnable that is not done waits for, and until when if that is known.
func waitsFor(r *client.Runnable) string {
	if r.WaitsFor == "" || r.DueAt == nil {
		return r.WaitsFor
	}
	return r.WaitsFor + ", due " + clock(*r.DueAt)
}
