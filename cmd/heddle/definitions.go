package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/heddle-run/heddle/sdk/client"
)

// definitionsCmd lists what is registered.
type definitionsCmd struct {
	remote
	Name string `arg:"" optional:"" help:"List the versions of this definition, newest first; without it all names."`
}

// Run implements the command.
func (c *definitionsCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	if c.Name != "" {
		all, err := cl.Versions(a, c.Name)
		if err != nil {
			return err
		}
		return a.print(listed[client.DefinitionVersion]{Items: all}, func(w io.Writer) { printVersions(w, all) })
	}
	all, err := collect(0, func(cursor string, limit int) (*client.Page[client.NamedDefinition], error) {
		return cl.Definitions(a, client.PageOptions{Cursor: cursor, Limit: limit})
	})
	if err != nil {
		return err
	}
	return a.print(all, func(w io.Writer) { printDefinitions(w, all.Items) })
}

// printDefinitions has a line for each name, with what it means now.
func printDefinitions(w io.Writer, all []client.NamedDefinition) {
	table := [][]string{{"NAME", "VERSION", "VERSIONS", "OPEN WORKFLOWS", "REGISTERED", "DIGEST"}}
	for _, d := range all {
		table = append(table, []string{d.Name, orDash(d.Version), strconv.Itoa(d.Versions), openText(d.AllOpen), clock(d.RegisteredAt), d.Digest})
	}
	rows(w, table)
}

func printVersions(w io.Writer, all []client.DefinitionVersion) {
	table := [][]string{{"NAME", "VERSION", "OPEN WORKFLOWS", "REGISTERED", "DIGEST"}}
	for _, d := range all {
		table = append(table, []string{d.Name, orDash(d.Version), openText(d.Open), clock(d.RegisteredAt), d.Digest})
	}
	rows(w, table)
}

// orDash keeps the place of a text that is not given.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// openText is a count as far as it is known.
func openText(n *client.OpenWorkflows) string {
	switch {
	case n == nil:
		return "unknown"
	case n.AtLeast:
		return fmt.Sprintf("%d or more", n.Count)
	}
	return strconv.FormatUint(n.Count, 10)
}
