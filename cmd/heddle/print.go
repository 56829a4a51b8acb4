package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// print writes v as JSON where that is asked for, else what table writes.
func (a *app) print(v any, table func(w io.Writer)) error {
	if !a.json {
		table(a.out)
		return nil
	}
	return a.printJSON(v)
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("printing JSON: %w", err)
	}
	return nil
}

// rows writes aligned columns, as shown; the first row is the heading.
func rows(w io.Writer, all [][]string) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range all {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = shown(cell)
		}
		fmt.Fprintln(tab, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	tab.Flush()
}
