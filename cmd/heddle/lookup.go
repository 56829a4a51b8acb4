package main

import (
	"io"
	"strconv"

	"github.com/heddle-run/heddle/sdk/client"
)

// lookupCmd tells where a workflow lives: its partition and who owns it.
type lookupCmd struct {
	remote
	ID string `arg:"" help:"The workflow."`
}

// Run implements the command.
func (c *lookupCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	w, err := cl.Get(a, c.ID)
	if err != nil {
		return err
	}
	return a.print(w, func(out io.Writer) { printPlace(out, w) })
}

func printPlace(out io.Writer, w *client.Workflow) {
	table := [][]string{{"id", w.ID}, {"status", string(w.Status)}, {"partition", strconv.Itoa(int(w.Partition))}}
	if o := w.Owner; o != nil {
		table = append(table, []string{"owner", o.Instance},
			[]string{"epoch", strconv.FormatUint(o.Epoch, 10)}, []string{"leased until", clock(o.LeasedUntil)})
	}
	rows(out, table)
}
