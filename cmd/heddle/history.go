package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/heddle-run/heddle/sdk/client"
)

// historyCmd prints the events of a workflow.
type historyCmd struct {
	remote
	ID    string `arg:"" help:"The workflow."`
	Limit int    `env:"-" help:"How many at most; 0 is all."`
}

// Run implements the command.
func (c *historyCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	all, err := collect(c.Limit, func(cursor string, limit int) (*client.Page[client.Event], error) {
		return cl.History(a, c.ID, client.PageOptions{Cursor: cursor, Limit: limit})
	})
	if err != nil {
		return err
	}
	return a.print(all, func(w io.Writer) { printHistory(w, all.Items) })
}

func printHistory(w io.Writer, all []client.Event) {
	table := [][]string{{"POSITION", "TIME", "EVENT", "FIELDS"}}
	for _, e := range all {
		table = append(table, []string{e.Position, e.Time.Local().Format("15:04:05.000"), e.Type, fields(e, maxField)})
	}
	rows(w, table)
}

// maxField is how much of one field of an event is shown.
const maxField = 60

// fields writes an event's own fields as name=value in their order; values are
// cut after so many bytes.
func fields(e client.Event, most int) string {
	dec := json.NewDecoder(bytes.NewReader(e.Fields))
	if _, err := dec.Token(); err != nil {
		return string(e.Fields)
	}
	var parts []string
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		if err != nil {
			return string(e.Fields)
		}
		switch name {
		case "position", "time", "type":
			continue
		}
		parts = append(parts, fmt.Sprintf("%s=%s", name, cut(unquoted(value), most)))
	}
	return strings.Join(parts, " ")
}

// unquoted is a plain text without its quotes, and other JSON as it is.
func unquoted(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && s != "" && !strings.ContainsAny(s, " \t\n\"=") {
		return s
	}
	return string(raw)
}

// cut shortens a text to so many bytes, at a character.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most] + "…"
}
