package main

import (
	"fmt"
	"io"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// keysCmd shows who holds the permits of a key, and who waits for one.
type keysCmd struct {
	remote
	Name string `arg:"" help:"The key, as its expression gives it."`
	Kind string `env:"-" enum:"concurrency,rate" default:"concurrency" help:"Of concurrency, or the rate of rate_limit."`
}

// Run implements the command.
func (c *keysCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	read := cl.Key
	if c.Kind == "rate" {
		read = cl.RateKey
	}
	k, err := read(a, c.Name)
	if err != nil {
		return err
	}
	return a.print(k, func(w io.Writer) { printKey(w, k) })
}

// printKeyCounts prints how much of a limit is used.
func printKeyCounts(out io.Writer, k *client.Key) {
	if k.PerMs == 0 {
		fmt.Fprintf(out, "%s %s: %d of %d permits are held, %d wait\n", k.Kind, shown(k.Name), k.Held, k.Limit, k.Queued)
		return
	}
	next := "one is free"
	if k.Next != nil {
		next = "the next one at " + clock(*k.Next)
	}
	per := time.Duration(k.PerMs) * time.Millisecond
	fmt.Fprintf(out, "%s %s: %d of %d permits were granted within %s, %s, %d wait\n", k.Kind, shown(k.Name), k.Held, k.Limit, per, next, k.Queued)
}

func printKey(out io.Writer, k *client.Key) {
	printKeyCounts(out, k)
	if len(k.Holders)+len(k.Queue) == 0 {
		return
	}
	fmt.Fprintln(out)
	table := [][]string{{"", "WORKFLOW", "RUNNABLE", "SINCE"}}
	for _, p := range k.Holders {
		table = append(table, []string{"holds", p.Workflow, p.Runnable, clock(p.Since)})
	}
	for _, p := range k.Queue {
		table = append(table, []string{"waits", p.Workflow, p.Runnable, clock(p.Since)})
	}
	rows(out, table)
}
