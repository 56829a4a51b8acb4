package main

import (
	"io"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
)

// listCmd lists workflows.
type listCmd struct {
	remote
	Status     string   `env:"-" help:"Only those with this status."`
	Definition string   `env:"-" help:"Only those of this definition: a name or digest."`
	Label      []string `env:"-" placeholder:"K=V" help:"Only those with this label."`
	Limit      int      `env:"-" default:"50" help:"How many at most; 0 is all."`
}

// Run implements the command.
func (c *listCmd) Run(a *app) error {
	if known := events.Statuses(); c.Status != "" && !slices.Contains(known, c.Status) {
		return usageError("--status %q is none of %s", c.Status, strings.Join(known, ", "))
	}
	filter := client.Filter{Status: client.Status(c.Status), Definition: c.Definition, Labels: map[string]string{}}
	for _, l := range c.Label {
		key, value, ok := strings.Cut(l, "=")
		if !ok {
			return usageError("--label %q is not of the form name=value", l)
		}
		filter.Labels[key] = value
	}
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	all, err := collect(c.Limit, func(cursor string, limit int) (*client.Page[client.Workflow], error) {
		filter.Cursor, filter.Limit = cursor, limit
		return cl.List(a, filter)
	})
	if err != nil {
		return err
	}
	return a.print(all, func(w io.Writer) { printList(w, all.Items) })
}

// pageSize is asked for while following a cursor.
const pageSize = 200

// listed is a list as the API has it; Next is null unless a limit has cut it.
type listed[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next_cursor"`
}

// collect follows a list's cursor until it ends or limit (0: none) is reached.
func collect[T any](limit int, get func(cursor string, limit int) (*client.Page[T], error)) (listed[T], error) {
	all := listed[T]{Items: []T{}}
	cursor := ""
	for {
		size := pageSize
		if limit > 0 {
			size = min(size, limit-len(all.Items))
		}
		p, err := get(cursor, size)
		if err != nil {
			return all, err
		}
		all.Items = append(all.Items, p.Items...)
		if p.Next == "" {
			return all, nil
		}
		if limit > 0 && len(all.Items) >= limit {
			all.Next = &p.Next
			return all, nil
		}
		cursor = p.Next
	}
}

func printList(w io.Writer, all []client.Workflow) {
	table := [][]string{{"ID", "STATUS", "DEFINITION", "UPDATED", "RUNNABLES"}}
	for _, wf := range all {
		table = append(table, []string{wf.ID, string(wf.Status), versioned(wf.Definition), clock(wf.UpdatedAt), counts(wf.Counts)})
	}
	rows(w, table)
}
