package main

import (
	"fmt"
	"io"

	"github.com/heddle-run/heddle/sdk/client"
)

// keysCmd shows who holds the permits of a key, and who waits for one.
type keysCmd struct {
	remote
	Name string `arg:"" help:"The key, as its expression gives it."`
}

// Run implements the command.
func (c *keysCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	k, err := cl.Key(a, c.Name)
	if err != nil {
		return err
	}
	return a.print(k, func(w io.Writer) { printKey(w, k) })
}

func printKey(out io.Writer, k *client.Key) {
	fmt.Fprintf(out, "%s %s: %d of %d permits are held, %d wait\n", k.Kind, shown(k.Name), k.Held, k.Limit, k.Queued)
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
