package main

import (
	"fmt"
	"io"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
)

// keysCmd lists keys, or shows who holds the permits of one and who waits for one.
type keysCmd struct {
	remote
	Name  string `arg:"" optional:"" help:"The key, as its expression gives it, or the name of a breaker; without it all keys are listed."`
	Kind  string `env:"-" enum:",concurrency,rate,breaker" default:"" help:"Of concurrency, which a named key is of if nothing is said, the rate of rate_limit, or the breaker of circuit_breaker; a list has all."`
	Limit int    `env:"-" default:"50" help:"How many are listed at most; 0 is all."`
}

// Run implements the command.
func (c *keysCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	if c.Name == "" {
		return c.list(a, cl)
	}
	read := cl.Key
	switch c.Kind {
	case events.RateKey:
		read = cl.RateKey
	case events.BreakerKey:
		read = cl.Breaker
	}
	k, err := read(a, c.Name)
	if err != nil {
		return err
	}
	return a.print(k, func(w io.Writer) { printKey(w, k) })
}

func (c *keysCmd) list(a *app, cl *client.Client) error {
	all, err := collect(c.Limit, func(cursor string, limit int) (*client.Page[client.KeySummary], error) {
		return cl.Keys(a, client.KeyFilter{Kind: c.Kind, Cursor: cursor, Limit: limit})
	})
	if err != nil {
		return err
	}
	return a.print(all, func(w io.Writer) { printKeys(w, all.Items) })
}

func printKeys(out io.Writer, all []client.KeySummary) {
	table := [][]string{{"KIND", "NAME", "HELD", "LIMIT", "WAIT", "STATE", "NEXT"}}
	for _, k := range all {
		limit, next := fmt.Sprint(k.Limit), ""
		if k.Kind == events.BreakerKey {
			limit = fmt.Sprintf("%d of %d failed", k.Failures, k.Limit)
		} else if k.PerMs > 0 {
			limit += " in " + (time.Duration(k.PerMs) * time.Millisecond).String()
		}
		if k.Next != nil {
			next = clock(*k.Next)
		}
		table = append(table, []string{k.Kind, shown(k.Name), fmt.Sprint(k.Held), limit, fmt.Sprint(k.Queued), shown(k.State), next})
	}
	rows(out, table)
}

// printKeyCounts prints how much of a limit is used.
func printKeyCounts(out io.Writer, k *client.Key) {
	if k.Kind == events.BreakerKey {
		printBreaker(out, k)
		return
	}
	if k.PerMs == 0 {
		fmt.Fprintf(out, "%s %s: %d of %d permits are held, %d wait\n", k.Kind, shown(k.Name), k.Held, k.Limit, k.Queued)
		return
	}
	next := fmt.Sprintf("%d more may be at once", max(k.Limit, k.Held)-k.Held)
	if k.Next != nil {
		next = "the next one at " + clock(*k.Next)
	}
	per := time.Duration(k.PerMs) * time.Millisecond
	fmt.Fprintf(out, "%s %s: %d of %d permits were granted within %s, %s, %d wait\n", k.Kind, shown(k.Name), k.Held, k.Limit, per, next, k.Queued)
}

// printBreaker prints the state of a breaker.
func printBreaker(out io.Writer, k *client.Key) {
	state := k.State
	switch k.State {
	case "open":
		if k.Next != nil {
			state += ", tries at " + clock(*k.Next)
		}
	case "half_open":
		state = "half open, one attempt at a time tries"
	}
	fmt.Fprintf(out, "%s %s: %s; %d failed in a row, %d open it; %d permits are held, %d wait\n", k.Kind, shown(k.Name), shown(state), k.Failures, k.Limit, k.Held, k.Queued)
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
