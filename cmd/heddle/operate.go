package main

import (
	"fmt"
	"io"

	"github.com/heddle-run/heddle/sdk/client"
)

// operateArgs are what every word of an operator to a partition takes.
type operateArgs struct {
	remote
	Partition int32  `arg:"" help:"The partition."`
	By        string `env:"-" required:"" help:"Who asks; kept in the journal."`
	Why       string `env:"-" required:"" help:"Why; kept in the journal."`
}

// do connects, lets send send the word, and says what has become of it: done, or what else there is to know.
func (c *operateArgs) do(a *app, done string, send func(cl *client.Client, by client.By) (obeyed bool, err error)) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	obeyed, err := send(cl, client.By{Who: c.By, Why: c.Why})
	if err != nil {
		return err
	}
	return a.print(operated{c.Partition, obeyed}, func(w io.Writer) {
		fmt.Fprintf(w, "partition %d: %s; what it is at: heddle partitions\n", c.Partition, orUnanswered(obeyed, done))
	})
}

// orUnanswered is what a word has done, where a planner has obeyed.
func orUnanswered(obeyed bool, done string) string {
	if !obeyed {
		return "the word is in Kafka, and no planner has answered yet"
	}
	return done
}

// operated is what has become of an operator's word.
type operated struct {
	Partition int32 `json:"partition"`
	Obeyed    bool  `json:"obeyed"` // false: no planner has answered yet
}

type releasePartitionCmd struct{ operateArgs }

// Run implements the command.
func (c *releasePartitionCmd) Run(a *app) error {
	return c.do(a, "its lease is released, and whoever it is assigned to takes over", func(cl *client.Client, by client.By) (bool, error) {
		return cl.ReleasePartition(a, c.Partition, by)
	})
}

type markStaleCmd struct{ operateArgs }

// Run implements the command.
func (c *markStaleCmd) Run(a *app) error {
	return c.do(a, "its lease is stale until its owner renews it, or another one takes over", func(cl *client.Client, by client.By) (bool, error) {
		return cl.MarkPartitionStale(a, c.Partition, by)
	})
}

type replayCmd struct {
	operateArgs
	From  string `env:"-" placeholder:"LOG@OFFSET" help:"Where to read again from: commands@OFFSET or inbox@OFFSET."`
	Clear bool   `env:"-" help:"Clear the request instead."`
}

// Run implements the command.
func (c *replayCmd) Run(a *app) error {
	if (c.From != "") == c.Clear {
		return usageError("replay wants --from commands@OFFSET or inbox@OFFSET, or --clear")
	}
	done := "it reads again from " + shown(c.From) + ", and decides what is not decided"
	if c.Clear {
		done = "there is no request to read again"
	}
	return c.do(a, done, func(cl *client.Client, by client.By) (bool, error) {
		return cl.ReplayPartition(a, c.Partition, c.From, by)
	})
}

type checkpointPartitionCmd struct{ operateArgs }

// Run implements the command.
func (c *checkpointPartitionCmd) Run(a *app) error {
	return c.do(a, "all of its changed rows are written to the changelog now", func(cl *client.Client, by client.By) (bool, error) {
		return cl.CheckpointPartition(a, c.Partition, by)
	})
}
