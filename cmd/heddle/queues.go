package main

import (
	"fmt"
	"io"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// queuesCmd lists the task queues with open attempts, or with some that have ended of late.
type queuesCmd struct{ remote }

// Run implements the command.
func (c *queuesCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	all, err := cl.Queues(a)
	if err != nil {
		return err
	}
	return a.print(listed[client.Queue]{Items: all}, func(w io.Writer) { printQueues(w, all, time.Now()) })
}

func printQueues(w io.Writer, all []client.Queue, now time.Time) {
	table := [][]string{{"QUEUE", "PENDING", "OLDEST", "RUNNING", "DELIVERED", "FAILED", "PARTITIONS"}}
	for _, q := range all {
		oldest := ""
		if q.OldestPendingSince != nil {
			oldest = since(*q.OldestPendingSince, now)
		}
		table = append(table, []string{q.Name, fmt.Sprint(q.Pending), oldest, fmt.Sprint(q.Notified), fmt.Sprint(q.Delivered), fmt.Sprint(q.Failed), fmt.Sprint(len(q.Partitions))})
	}
	rows(w, table)
}
