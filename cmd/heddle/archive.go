package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/sdk/client"
)

// archiveCmd reads the runs that are kept outside Kafka.
type archiveCmd struct {
	List    archiveListCmd    `cmd:"" help:"List archived runs, by the IDs of their workflows."`
	Search  archiveSearchCmd  `cmd:"" help:"List the archived runs with these words in their IDs, labels, definitions or failures."`
	Show    archiveShowCmd    `cmd:"" help:"Print an archived run with its results, or its events."`
	Restore archiveRestoreCmd `cmd:"" help:"Give an archived run back to the planners, where they have no workflow of its ID."`
}

// archiveListCmd lists archived runs.
type archiveListCmd struct {
	remote
	whereArgs
	Limit int `env:"-" default:"50" help:"How many at most; 0 is all."`
}

// Run implements the command.
func (c *archiveListCmd) Run(a *app) error { return c.list(a) }

func (c *archiveListCmd) list(a *app, more ...string) error {
	filter, err := c.filter(more...)
	if err != nil {
		return err
	}
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	all, err := collect(c.Limit, func(cursor string, limit int) (*client.Page[client.Workflow], error) {
		filter.Cursor, filter.Limit = cursor, limit
		return cl.Archive(a, filter)
	})
	if err != nil {
		return err
	}
	return a.print(all, func(w io.Writer) { printArchive(w, all.Items) })
}

func printArchive(w io.Writer, all []client.Workflow) {
	table := [][]string{{"ID", "RUN", "STATUS", "DEFINITION", "UPDATED", "RECORDS", "FAILURE"}}
	for _, wf := range all {
		row := []string{wf.ID, "", string(wf.Status), versioned(wf.Definition), clock(wf.UpdatedAt), "", ""}
		if at := wf.Archived; at != nil {
			row[1], row[5] = at.Run, fmt.Sprint(at.Entries)
		}
		if wf.Failure != nil {
			row[6] = cut(failureText(wf.Failure), maxShown)
		}
		table = append(table, row)
	}
	rows(w, table)
}

// archiveSearchCmd searches archived runs.
type archiveSearchCmd struct {
	Words []string `arg:"" help:"Words; each occurs, whatever its case."`
	archiveListCmd
}

// Run implements the command.
func (c *archiveSearchCmd) Run(a *app) error {
	return c.list(a, client.Filter{Text: strings.Join(c.Words, " ")}.String())
}

// archiveShowCmd prints an archived run.
type archiveShowCmd struct {
	remote
	ID      string `arg:"" help:"The workflow."`
	Which   string `name:"run" env:"-" placeholder:"RUN" help:"Which of its runs, as the list names it; without it the newest."`
	History bool   `env:"-" help:"Print its events."`
}

// Run implements the command.
func (c *archiveShowCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	o := client.ArchivedOptions{Run: c.Which}
	if c.History {
		all, err := collect(0, func(cursor string, limit int) (*client.Page[client.Event], error) {
			o.Cursor, o.Limit = cursor, limit
			return cl.ArchivedHistory(a, c.ID, o)
		})
		if err != nil {
			return err
		}
		return a.print(all, func(w io.Writer) { printHistory(w, all.Items) })
	}
	run, err := cl.GetArchived(a, c.ID, o)
	if err != nil {
		return err
	}
	return a.print(run, func(w io.Writer) { printArchived(w, run) })
}

func printArchived(out io.Writer, run *client.ArchivedRun) {
	wf := &run.Workflow
	printWorkflow(out, wf)
	fmt.Fprintln(out)
	if at := wf.Archived; at != nil {
		table := [][]string{{"run", at.Run}, {"records", fmt.Sprint(at.Entries)}}
		if !at.Over {
			table = append(table, []string{"as of", wf.Position + ": it was not over, and may have gone on"})
		}
		if at.Lacks {
			table = append(table, []string{"lacks", "its first records: they were in no journal any more when it was archived"})
		}
		if at.Why != "" {
			table = append(table, []string{"note", at.Why})
		}
		rows(out, table)
		fmt.Fprintln(out)
	}
	table := [][]string{{"OUTPUT", "VALUE"}}
	for _, name := range slices.Sorted(maps.Keys(run.Results)) {
		table = append(table, []string{name, cut(string(run.Results[name]), maxField)})
	}
	rows(out, table)
}

// archiveRestoreCmd restores an archived run.
type archiveRestoreCmd struct {
	remote
	ID    string `arg:"" help:"The workflow."`
	Which string `name:"run" env:"-" placeholder:"RUN" help:"Which of its runs, as the list names it; without it the newest."`
	By    string `env:"-" help:"Who does it."`
	Why   string `env:"-" help:"Why."`
}

// Run implements the command.
func (c *archiveRestoreCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	restored, err := cl.Restore(a, c.ID, client.RestoreOptions{Run: c.Which, By: c.By, Why: c.Why})
	if err != nil {
		return err
	}
	return a.print(restored, func(w io.Writer) {
		fmt.Fprintf(w, "%s is restored, and is %s\n", shown(c.ID), restored.Workflow.Status)
		fmt.Fprintf(w, "as of record %s of %s: %s\n", restored.AsOf, clock(restored.UpdatedAt), restored.Note)
	})
}
