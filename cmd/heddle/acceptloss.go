package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/services/readiness"
	"github.com/heddle-run/heddle/shared/events"
)

// acceptLossCmd lets a partition go on without records that are gone.
type acceptLossCmd struct {
	remote
	Partition int32  `arg:"" help:"The partition."`
	Log       string `env:"-" help:"The log whose records are gone: commands, inbox or journal."`
	From      *int64 `env:"-" placeholder:"OFFSET" help:"The first offset that is gone."`
	To        *int64 `env:"-" placeholder:"OFFSET" help:"The offset behind the last one that is gone."`
	By        string `env:"-" help:"Who accepts it; kept in the journal."`
	Why       string `env:"-" help:"Why; kept in the journal."`
}

// Run implements the command.
func (c *acceptLossCmd) Run(a *app) error {
	given := c.Log != "" || c.From != nil || c.To != nil || c.By != "" || c.Why != ""
	whole := c.Log != "" && c.From != nil && c.To != nil && c.By != "" && c.Why != ""
	switch {
	case given && !whole:
		return usageError("accept-loss wants all of --log, --from, --to, --by and --why; without any it shows what keeps the partition from going on, with the command to type")
	case whole && !slices.Contains(events.LossLogs(), c.Log):
		return usageError("--log %q is none of %s", c.Log, strings.Join(events.LossLogs(), ", "))
	case whole && (*c.From < 0 || *c.To <= *c.From):
		return usageError("--from %d --to %d name no records: from is the first offset that is gone, to the one behind the last", *c.From, *c.To)
	}
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	if !whole {
		return c.show(a, cl)
	}
	goesOn, err := cl.AcceptLoss(a, c.Partition, client.Loss{Log: c.Log, From: *c.From, To: *c.To}, client.By{Who: c.By, Why: c.Why})
	if err != nil {
		return err
	}
	return a.print(accepted{c.Partition, goesOn}, func(w io.Writer) { printAccepted(w, accepted{c.Partition, goesOn}) })
}

// accepted is what became of an operator's word.
type accepted struct {
	Partition int32 `json:"partition"`
	GoesOn    bool  `json:"goes_on"` // false: no planner has answered yet
}

func printAccepted(w io.Writer, is accepted) {
	if is.GoesOn {
		fmt.Fprintf(w, "partition %d goes on; the workflows that may be concerned are paused until somebody resumes them: heddle list --status paused\n", is.Partition)
		return
	}
	fmt.Fprintf(w, "the word is in Kafka, and no planner has answered yet; whether partition %d goes on: heddle partitions\n", is.Partition)
}

// atStake is what a partition's loss may concern.
type atStake struct {
	Partition int32             `json:"partition"`
	Reasons   []string          `json:"reasons"`
	Workflows []client.Workflow `json:"workflows"`
}

// show tells what keeps the partition from going on, and what of its workflows has not
// ended: those may be concerned.
func (c *acceptLossCmd) show(a *app, cl *client.Client) error {
	all, err := cl.Readiness(a)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all.Partitions, func(p runtime.Partition) bool { return p.Partition == c.Partition })
	if i < 0 {
		return &client.Error{Code: "not_found", Message: fmt.Sprintf("nothing is known of partition %d; the known ones: heddle partitions", c.Partition)}
	}
	is := atStake{Partition: c.Partition, Reasons: []string{}, Workflows: []client.Workflow{}}
	for _, reason := range all.Partitions[i].Readiness.Reasons {
		if readiness.Blocks(reason) {
			is.Reasons = append(is.Reasons, reason)
		}
	}
	if len(is.Reasons) > 0 {
		if is.Workflows, err = openOn(a, cl, c.Partition); err != nil {
			return err
		}
	}
	return a.print(is, func(w io.Writer) { printAtStake(w, is) })
}

// openOn are the workflows of a partition that have not ended.
func openOn(a *app, cl *client.Client, partition int32) ([]client.Workflow, error) {
	open := []client.Workflow{}
	for _, status := range events.Statuses() {
		if client.Status(status) == client.StatusCompleted || client.Status(status) == client.StatusCancelled {
			continue
		}
		all, err := collect(0, func(cursor string, limit int) (*client.Page[client.Workflow], error) {
			return cl.List(a, client.Filter{Status: client.Status(status), Cursor: cursor, Limit: limit})
		})
		if err != nil {
			return nil, err
		}
		for _, w := range all.Items {
			if w.Partition == partition {
				open = append(open, w)
			}
		}
	}
	return open, nil
}

func printAtStake(w io.Writer, is atStake) {
	if len(is.Reasons) == 0 {
		fmt.Fprintf(w, "partition %d is not blocked\n", is.Partition)
		return
	}
	for _, reason := range is.Reasons {
		fmt.Fprintln(w, shown(reason))
	}
	fmt.Fprintf(w, "\nworkflows of partition %d that have not ended: %d\n", is.Partition, len(is.Workflows))
	if len(is.Workflows) > 0 {
		printList(w, is.Workflows)
	}
}
