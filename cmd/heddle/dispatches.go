package main

import (
	"fmt"
	"io"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// dispatchesCmd lists dispatch records of a partition.
type dispatchesCmd struct {
	remote
	Partition int32  `arg:"" help:"The partition."`
	Status    string `env:"-" enum:",pending,notified,delivered,failed" default:"" help:"Only those that are pending, notified, delivered or failed."`
	Queue     string `env:"-" help:"Only those of a task queue."`
	Limit     int    `env:"-" default:"100" help:"How many, at most 1000."`
}

// Run implements the command.
func (c *dispatchesCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	all, err := cl.Dispatches(a, c.Partition, client.DispatchFilter{Status: client.DispatchStatus(c.Status), Queue: c.Queue, Limit: c.Limit})
	if err != nil {
		return err
	}
	return a.print(listed[client.Dispatch]{Items: all}, func(w io.Writer) { printDispatches(w, all, time.Now()) })
}

func printDispatches(w io.Writer, all []client.Dispatch, now time.Time) {
	table := [][]string{{"STATUS", "SINCE", "QUEUE", "WORKFLOW", "RUNNABLE", "ATTEMPT", "REASON", "REQUEST"}}
	for i := range all {
		table = append(table, dispatchRow(&all[i], now))
	}
	rows(w, table)
}

// dispatchRow is a record in the table, with how long it has been what it is.
func dispatchRow(d *client.Dispatch, now time.Time) []string {
	at := d.CreatedAt
	for _, later := range []*string{d.NotifiedAt, d.DeliveredAt, d.FailedAt} {
		if later != nil && d.Status != client.DispatchPending {
			at = *later
		}
	}
	row := []string{string(d.Status), since(at, now), shown(d.Target), "", "", fmt.Sprint(d.AttemptCount), shown(textOf(d.Reason)), d.RequestID}
	if m := d.Metadata; m != nil {
		row[3], row[4] = m.Workflow, m.Runnable
	}
	return row
}

type removeDispatchCmd struct {
	operateArgs
	IDs []string `arg:"" name:"request" help:"Request ids, as heddle partitions dispatches shows them."`
}

// Run implements the command.
func (c *removeDispatchCmd) Run(a *app) error {
	return c.do(a, fmt.Sprintf("%d dispatch records are removed", len(c.IDs)), func(cl *client.Client, by client.By) (bool, error) {
		return cl.RemoveDispatches(a, c.Partition, c.IDs, by)
	})
}
