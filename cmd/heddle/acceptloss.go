package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/snapshot"
)

// acceptLossCmd is an operator's word that a partition goes on without some records.
type acceptLossCmd struct {
	remote
	Partition int32  `arg:"" help:"The blocked partition."`
	Log       string `env:"-" enum:",commands,inbox" default:"" help:"The log whose records are gone: commands or inbox."`
	From      int64  `env:"-" default:"-1" help:"Offset of the first record that is gone, as the partition's reason has it."`
	To        int64  `env:"-" default:"-1" help:"Offset behind the last one."`
	By        string `env:"-" help:"Who accepts the loss; kept in the journal."`
	Why       string `env:"-" help:"Why; kept in the journal."`
}

// Run implements the command. Without a range it shows what there is to accept.
func (c *acceptLossCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	if c.Log == "" {
		return c.show(a, cl)
	}
	if c.From < 0 || c.To <= c.From {
		return usageError("give --from and --to as the partition's reason has them: heddle partitions accept-loss %d shows it", c.Partition)
	}
	if c.By == "" || c.Why == "" {
		return usageError("say who accepts the loss and why, with --by and --why: the journal keeps it")
	}
	err = cl.AcceptLoss(a, c.Partition, client.Loss{Log: c.Log, From: c.From, To: c.To}, client.By{Who: c.By, Why: c.Why})
	if err != nil {
		return err
	}
	said := struct {
		Partition int32 `json:"partition"`
		client.Loss
	}{c.Partition, client.Loss{Log: c.Log, From: c.From, To: c.To}}
	return a.print(said, func(w io.Writer) {
		fmt.Fprintf(w, "partition %d goes on without %s %d to %d\n", c.Partition, c.Log, c.From, c.To-1)
		fmt.Fprintln(w, "Workflows that they may concern are paused. Look at each, and let it go on with: heddle resume ID --why ...")
		fmt.Fprintln(w, "They are in: heddle list --status paused")
	})
}

// concerned is what a loss may concern, before anybody accepts it.
type concerned struct {
	Partition int32    `json:"partition"`
	Reasons   []string `json:"reasons"`
	Workflows []string `json:"workflows"` // of the partition, that have not ended
}

// show prints why the partition is blocked, and what of it may be concerned.
func (c *acceptLossCmd) show(a *app, cl *client.Client) error {
	all, err := cl.Readiness(a)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all.Partitions, func(p snapshot.Partition) bool { return p.Partition == c.Partition })
	if i < 0 {
		return fmt.Errorf("there is no partition %d; heddle partitions lists them", c.Partition)
	}
	found := concerned{Partition: c.Partition, Reasons: all.Partitions[i].Readiness.Reasons, Workflows: []string{}}
	list, err := collect(0, func(cursor string, limit int) (*client.Page[client.Workflow], error) {
		return cl.List(a, client.Filter{Cursor: cursor, Limit: limit})
	})
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.Partition == c.Partition && w.Status != client.StatusCompleted && w.Status != client.StatusCancelled {
			found.Workflows = append(found.Workflows, w.ID)
		}
	}
	slices.Sort(found.Workflows)
	return a.print(found, func(w io.Writer) { printConcerned(w, &found) })
}

func printConcerned(w io.Writer, c *concerned) {
	fmt.Fprintf(w, "partition %d: %s\n", c.Partition, cmp.Or(shownAll(c.Reasons), "nothing is wrong with it"))
	fmt.Fprintf(w, "%d of its workflows have not ended\n", len(c.Workflows))
	for _, id := range c.Workflows {
		fmt.Fprintln(w, "  "+shown(id))
	}
}

// shownAll are texts for a person, in one line.
func shownAll(texts []string) string {
	var all string
	for i, text := range texts {
		if i > 0 {
			all += "; "
		}
		all += shown(text)
	}
	return all
}
