package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// showNotices prints what has been told of a workflow's drains.
func (w *world) showNotices(out *bytes.Buffer, id string) {
	for _, n := range w.notices {
		if n.Workflow != id {
			continue
		}
		fmt.Fprintf(out, "%d %s", n.Drain, n.Status)
		var all map[string][]json.RawMessage
		w.must(json.Unmarshal(n.All, &all))
		for _, name := range slices.Sorted(maps.Keys(all)) {
			slices.SortFunc(all[name], func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
			fmt.Fprintf(out, " %s %s", name, all[name])
		}
		if n.Failure != nil {
			fmt.Fprintf(out, " (%s: %s)", n.Failure.Component, n.Failure.Error.Type)
		}
		if n.Args != nil {
			fmt.Fprintf(out, " args %s", n.Args)
		}
		for _, e := range w.emitted {
			if strings.Contains(string(e.Value), fmt.Sprintf("%q", n.ID)) {
				fmt.Fprintf(out, " topic %s", e.Topic)
			}
		}
		for _, e := range w.told {
			var call events.Notice
			w.must(wire.Unmarshal(e.Value, &call))
			if call.ID == n.ID {
				fmt.Fprintf(out, " url %s", call.URL)
			}
		}
		fmt.Fprintln(out)
	}
}

// ancestry prints the facts with their parents.
func (w *world) ancestry(out *bytes.Buffer, id string) {
	var list struct {
		Items []factView `json:"items"`
	}
	w.must(json.Unmarshal(w.query("facts", id, false), &list))
	for _, f := range list.Items {
		name := "input"
		if f.Component != nil {
			name = *f.Component
		}
		fmt.Fprintf(out, "%s %s %s parents %v depth %d\n", f.ID, name, f.Value, f.Parents, f.Depth)
	}
}

// explain prints why a workflow is where it is.
func (w *world) explain(out *bytes.Buffer, id string) {
	var why struct {
		Status, Code string
		Reasons      []string
		Items        []runnableView
	}
	w.must(json.Unmarshal(w.query("explain", id, false), &why))
	fmt.Fprintln(out, why.Status+why.Code)
	for _, r := range why.Reasons {
		fmt.Fprintln(out, " ", r)
	}
	for _, r := range why.Items {
		fmt.Fprintf(out, "  %s %s: %s\n", r.Component, r.Status, r.WaitsFor)
	}
}

// history prints the names of a workflow's events, record by record.
func (w *world) history(out *bytes.Buffer, id string) {
	for _, raw := range w.journal {
		rec, err := events.DecodeRecord(raw)
		w.must(err)
		if rec.Workflow != id {
			continue
		}
		var names []string
		for _, e := range rec.Events {
			names = append(names, events.Name(e))
		}
		fmt.Fprintln(out, strings.Join(names, " "))
	}
}
