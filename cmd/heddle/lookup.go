package main

import (
	"errors"
	"io"
	"strconv"

	"github.com/heddle-run/heddle/sdk/client"
)

// lookupCmd tells where a workflow lives: its partition and who owns it.
type lookupCmd struct {
	remote
	ID string `arg:"" help:"The workflow."`
}

// place is what `lookup -o json` prints.
type place struct {
	ID        string        `json:"id"`
	Found     bool          `json:"found"`
	Status    string        `json:"status,omitempty"`
	Partition *int32        `json:"partition,omitempty"`
	Owner     *client.Owner `json:"owner,omitempty"`
}

// Run implements the command.
func (c *lookupCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	p := place{ID: c.ID}
	w, err := cl.Get(a, c.ID)
	switch {
	case errors.Is(err, client.ErrNotFound):
	case err != nil:
		return err
	default:
		p = place{ID: w.ID, Found: true, Status: string(w.Status), Partition: &w.Partition, Owner: w.Owner}
	}
	return a.print(p, func(out io.Writer) { printPlace(out, p) })
}

func printPlace(out io.Writer, p place) {
	table := [][]string{{"id", p.ID}}
	if !p.Found {
		rows(out, append(table, []string{"status", "unknown"}))
		return
	}
	table = append(table, []string{"status", p.Status}, []string{"partition", strconv.Itoa(int(*p.Partition))})
	if o := p.Owner; o != nil {
		table = append(table, []string{"owner", o.Instance},
			[]string{"epoch", strconv.FormatUint(o.Epoch, 10)}, []string{"leased until", clock(o.LeasedUntil)})
	}
	rows(out, table)
}
