package main

import (
	"io"
	"strings"

	"github.com/heddle-run/heddle/sdk/client"
)

// whereArgs choose workflows.
type whereArgs struct {
	Where []string `env:"-" sep:"none" placeholder:"FILTER" help:"Only those that fit: name=value with blanks between, as status=failed error=timeout component=charge label.customer=acme created_after=24h 'q=\"card declined\"'."`
}

// filter is what is asked for, with conditions of flags of their own.
func (w *whereArgs) filter(more ...string) (client.Filter, error) {
	f, err := client.ParseFilter(strings.Join(append(w.Where, more...), " "))
	if err != nil {
		return f, usageError("--where: %w", err)
	}
	return f, nil
}

// listCmd lists workflows.
type listCmd struct {
	remote
	whereArgs
	Status     string   `env:"-" help:"Only those with this status."`
	Definition string   `env:"-" help:"Only those of this definition: a name or digest."`
	Label      []string `env:"-" placeholder:"K=V" help:"Only those with this label."`
	Archived   bool     `env:"-" help:"Go on, behind the workflows, with the runs that are kept in the archive only."`
	Limit      int      `env:"-" default:"50" help:"How many at most; 0 is all."`
}

// Run implements the command.
func (c *listCmd) Run(a *app) error {
	more, err := c.conditions()
	if err != nil {
		return err
	}
	filter, err := c.filter(more...)
	if err != nil {
		return err
	}
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	filter.Archived = c.Archived
	all, err := collect(c.Limit, func(cursor string, limit int) (*client.Page[client.Workflow], error) {
		filter.Cursor, filter.Limit = cursor, limit
		return cl.List(a, filter)
	})
	if err != nil {
		return err
	}
	return a.print(all, func(w io.Writer) { printList(w, all.Items) })
}

// conditions are those of the flags besides --where.
func (c *listCmd) conditions() (all []string, err error) {
	if c.Status != "" {
		all = append(all, client.Filter{Status: client.Status(c.Status)}.String())
	}
	if c.Definition != "" {
		all = append(all, client.Filter{Definition: c.Definition}.String())
	}
	for _, l := range c.Label {
		key, value, ok := strings.Cut(l, "=")
		if !ok || key == "" {
			return nil, usageError("--label %q is not of the form name=value", l)
		}
		all = append(all, client.Filter{Labels: map[string]string{key: value}}.String())
	}
	return all, nil
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
	table := [][]string{{"ID", "STATUS", "DEFINITION", "UPDATED", "RUNNABLES", "FAILURE"}}
	for _, wf := range all {
		status := string(wf.Status)
		if wf.Archived != nil {
			status += ", archived"
		}
		row := []string{wf.ID, status, versioned(wf.Definition), clock(wf.UpdatedAt), counts(wf.Counts), ""}
		if wf.Failure != nil {
			row[5] = cut(failureText(wf.Failure), maxShown)
		}
		table = append(table, row)
	}
	rows(w, table)
}
