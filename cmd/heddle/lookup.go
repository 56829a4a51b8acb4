package main

import (
	"errors"
	"io"
	"strconv"
	"strings"

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
	place, err := cl.Lookup(a, c.ID)
	if err != nil {
		return err
	}
	if place.Readiness.Ready { // else nobody may be there to ask
		if _, err := cl.Get(a, c.ID); errors.Is(err, client.ErrNotFound) {
			return err
		}
	}
	return a.print(place, func(out io.Writer) { printPlace(out, place) })
}

func printPlace(out io.Writer, p *client.Place) {
	table := [][]string{{"id", p.ID}, {"partition", strconv.Itoa(int(p.Partition))}}
	if o := p.Owner; o != nil {
		table = append(table, []string{"owner", o.Instance},
			[]string{"epoch", strconv.FormatUint(o.Epoch, 10)}, []string{"leased until", clock(o.LeasedUntil)})
	}
	if p.Readiness.Ready {
		table = append(table, []string{"ready", "yes"})
	} else {
		table = append(table, []string{"not ready", strings.Join(p.Readiness.Reasons, "; ")})
	}
	rows(out, table)
}
