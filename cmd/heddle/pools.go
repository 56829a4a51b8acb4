package main

import (
	"fmt"
	"io"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// poolsCmd lists pools of runners, or shows what one is at.
type poolsCmd struct {
	remote
	Name    string `arg:"" optional:"" help:"The pool, or a shard of it as images/3; without it all are listed, each shard by its name."`
	Attempt string `env:"-" placeholder:"TOKEN" help:"Of a pool: tell the place of this attempt in the queue too, or where it runs. heddle runnables --tokens shows tokens."`
	Limit   int    `env:"-" default:"50" help:"How many pools are listed at most; 0 is all."`
}

// Run implements the command.
func (c *poolsCmd) Run(a *app) error {
	if c.Name == "" && c.Attempt != "" {
		return usageError("--attempt is of one pool: name it")
	}
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	if c.Name == "" {
		all, err := collect(c.Limit, func(cursor string, limit int) (*client.Page[client.PoolSummary], error) {
			return cl.Pools(a, client.PageOptions{Cursor: cursor, Limit: limit})
		})
		if err != nil {
			return err
		}
		return a.print(all, func(w io.Writer) { printPools(w, all.Items, time.Now()) })
	}
	p, err := cl.Pool(a, c.Name, client.PoolOptions{Attempt: c.Attempt})
	if err != nil {
		return err
	}
	return a.print(p, func(w io.Writer) { printPool(w, p, c.Attempt != "", time.Now()) })
}

func printPools(out io.Writer, all []client.PoolSummary, now time.Time) {
	table := [][]string{{"POOL", "CONNECTED", "LOST", "DRAINING", "SLOTS", "FREE", "RUNNING", "QUEUED", "OLDEST", "WAITS FOR"}}
	for i := range all {
		p := &all[i]
		table = append(table, []string{
			p.Name, fmt.Sprint(p.Connected), fmt.Sprint(p.Lost), fmt.Sprint(p.Draining), fmt.Sprint(p.Slots), fmt.Sprint(p.Free),
			fmt.Sprint(p.Running), fmt.Sprint(p.Queued), ago(p.Oldest, now), p.Waits,
		})
	}
	rows(out, table)
}

// printPool prints what a pool is at; asked says that an attempt was asked for.
func printPool(out io.Writer, p *client.Pool, asked bool, now time.Time) {
	fmt.Fprintf(out, "%s: %d runners are connected, %d lost, %d draining; %d of %d slots are free, %d attempts run, %d wait\n",
		shown(p.Name), p.Connected, p.Lost, p.Draining, p.Free, p.Slots, p.Running, p.Queued)
	if p.Waits != "" {
		fmt.Fprintf(out, "the queue waits: %s\n", shown(p.Waits))
	}
	if asked {
		fmt.Fprintf(out, "the attempt: %s\n", shown(askedFor(p)))
	}
	if len(p.Runners) > 0 {
		fmt.Fprintln(out)
		printRunners(out, p.Runners, now)
	}
	if p.More {
		fmt.Fprintf(out, "and more: heddle runners --pool %s --limit 0\n", shown(p.Name))
	}
	if len(p.Queue) == 0 {
		return
	}
	fmt.Fprintln(out)
	table := [][]string{{"PLACE", "WORKFLOW", "RUNNABLE", "ATTEMPT", "QUEUE", "SINCE"}}
	for i := range p.Queue {
		w := &p.Queue[i]
		table = append(table, []string{placeOf(w), w.Workflow, w.Runnable, fmt.Sprint(w.Attempt), w.Queue, ago(&w.Since, now)})
	}
	rows(out, table)
	if more := p.Queued - uint64(len(p.Queue)); more > 0 {
		fmt.Fprintf(out, "and %d more\n", more)
	}
}

// placeOf is a place in the queue, of the shard that has it where there are several.
func placeOf(w *client.PoolWork) string {
	if w.Shard == "" {
		return fmt.Sprint(w.Place)
	}
	return fmt.Sprintf("%d of %s", w.Place, w.Shard)
}

// askedFor says where the attempt is that was asked for.
func askedFor(p *client.Pool) string {
	w := p.Asked
	switch {
	case w == nil:
		return "the pool has none of that token"
	case w.Place == 0:
		return fmt.Sprintf("%s %s is %s at the runner %s", w.Workflow, w.Runnable, w.State, w.Runner)
	case w.Shard != "":
		return fmt.Sprintf("%s %s is number %d in the queue of the shard %s, of %d in all", w.Workflow, w.Runnable, w.Place, w.Shard, p.Queued)
	case w.Beyond:
		return fmt.Sprintf("%s %s is number %d of %d, or behind that", w.Workflow, w.Runnable, w.Place, p.Queued)
	}
	return fmt.Sprintf("%s %s is number %d of %d", w.Workflow, w.Runnable, w.Place, p.Queued)
}

// ago is how long ago a time is; nil: empty.
func ago(at *time.Time, now time.Time) string {
	if at == nil {
		return ""
	}
	return since(at.Format(time.RFC3339Nano), now)
}
