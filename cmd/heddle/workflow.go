package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// outcome is the error of a workflow that has failed, or that went on without
// conditions that could not be evaluated, but for the first known of them; else nil.
func outcome(w *client.Workflow, known uint64) error {
	if w.Status == "failed" {
		return &client.FailedError{Workflow: w}
	}
	if w.ConditionErrors.Total() <= known {
		return nil
	}
	return &exitError{codeConditions, errors.New(conditionErrors(w.ID, w.ConditionErrors))}
}

// conditionErrors tells, a line for each, which conditions could not be evaluated.
func conditionErrors(id string, e *client.ConditionErrors) string {
	var b strings.Builder
	fmt.Fprintf(&b, "conditions of %s could not be evaluated (%d), and it went on without what depends on them:", shown(id), e.Count)
	for _, f := range e.First {
		b.WriteString("\n  " + shown(failureText(&f)))
	}
	if more := e.Count - uint64(len(e.First)); more > 0 {
		fmt.Fprintf(&b, "\n  and %d more: heddle runnables %s --status skipped", more, shown(id))
	}
	return b.String()
}

// failureText is what failed, and why.
func failureText(f *client.Failure) string {
	if f.Component == "" { // it is quarantined
		return f.Error.Type + ": " + f.Error.Message
	}
	return fmt.Sprintf("%s (%s): %s: %s", f.Component, f.Runnable, f.Error.Type, f.Error.Message)
}

// printWorkflow writes a workflow for people.
func printWorkflow(out io.Writer, w *client.Workflow) {
	table := [][]string{
		{"id", w.ID},
		{"status", string(w.Status)},
		{"definition", versioned(w.Definition)},
		{"digest", w.Definition.Digest},
		{"run", w.Run},
		{"created", clock(w.CreatedAt)},
		{"updated", clock(w.UpdatedAt)},
		{"runnables", counts(w.Counts)},
		{"partition", fmt.Sprint(w.Partition)},
	}
	if len(w.Labels) > 0 {
		table = append(table, []string{"labels", labels(w.Labels)})
	}
	if o := w.Owner; o != nil {
		table = append(table, []string{"owner", fmt.Sprintf("%s, epoch %d, leased until %s", o.Instance, o.Epoch, clock(o.LeasedUntil))})
	}
	if w.InHand {
		table = append(table, []string{"in hand", "it has not done all yet that it was told to do"})
	}
	if f := w.Failure; f != nil {
		table = append(table, []string{"failure", failureText(f)})
	}
	if e := w.ConditionErrors; e != nil {
		table = append(table, []string{"conditions", fmt.Sprintf("%d could not be evaluated", e.Count)})
		for _, f := range e.First {
			table = append(table, []string{"", failureText(&f)})
		}
	}
	if r := w.Refusals; r != nil {
		table = append(table, []string{"refusals", fmt.Sprintf("%d, the last at %s: %s: %s: %s", r.Count, clock(r.Last.Time), r.Last.Command, r.Last.Code, r.Last.Message)})
	}
	if k := w.Signals; k != nil {
		table = append(table, []string{"signals", fmt.Sprintf("%d that nobody has taken", k.Count)})
		for _, s := range k.First {
			table = append(table, []string{"", signalText(s)})
		}
	}
	if n := w.Notice; n != nil {
		table = append(table, []string{"notice", noticeText(n)})
	}
	rows(out, table)
}

func noticeText(n *client.NoticeTrouble) string {
	how := "is tried again"
	if n.State == "given_up" {
		how = "is given up"
	}
	return fmt.Sprintf("of drain %d: its receiver does not take it, after %d attempts it %s: %s: %s", n.Drain, n.Attempts, how, n.Error.Type, n.Error.Message)
}

func signalText(s client.KeptSignal) string {
	name := s.Name
	if s.Key != "" {
		name += " with the key " + s.Key
	}
	return fmt.Sprintf("%s, received %s, expires %s", name, clock(s.ReceivedAt), clock(s.ExpiresAt))
}

// versioned is NAME, or NAME@VERSION where there is one.
func versioned(d client.DefinitionRef) string {
	if d.Version == "" {
		return d.Name
	}
	return d.Name + "@" + d.Version
}

func labels(all map[string]any) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, all[name]))
	}
	return strings.Join(parts, " ")
}

// counts lists the statuses that any runnable has.
func counts(c client.Counts) string {
	var parts []string
	for _, p := range []struct {
		n    uint64
		name string
	}{
		{c.Ready, "ready"}, {c.Waiting, "waiting"}, {c.Active, "active"}, {c.Completed, "completed"},
		{c.Failed, "failed"}, {c.Skipped, "skipped"}, {c.Suppressed, "suppressed"}, {c.Cancelled, "cancelled"},
		{c.Uncertain, "uncertain"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.name))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// clock prints a time in the local zone.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05.000")
}

// printValues writes named values, one per line.
func printValues(w io.Writer, values map[string]json.RawMessage) {
	var table [][]string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		table = append(table, []string{"  " + name, string(values[name])})
	}
	rows(w, table)
}

// printLists writes lists of values by name, one value per line.
func printLists(w io.Writer, lists map[string][]json.RawMessage) {
	var table [][]string
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		for _, v := range lists[name] {
			table = append(table, []string{"  " + name, string(v)})
		}
	}
	rows(w, table)
}
