package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/heddle-run/heddle/sdk/client"
)

func TestWhatATerminalWouldObeyIsEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"plain text, Grüße, 漢字":        "plain text, Grüße, 漢字",
		"\x1b[2J\x1b]0;owned\a":        `\x1b[2J\x1b]0;owned\x07`,
		"one\ntwo\r\tthree":            `one\ntwo\r\tthree`,
		"\u009b31m":                    `\u009b31m`, // a control sequence of one character
		"invoice\u202etxt.exe":         `invoice\u202etxt.exe`,
		"del\x7f, bad\xff, line\u2028": `del\x7f, bad\xff, line\u2028`,
		"replaced \uFFFD":              "replaced \uFFFD",
		"tag \U000e0041 and the end":   `tag \U000e0041 and the end`,
	} {
		if got := shown(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}

// hostile is what a stranger may have written anywhere.
const hostile = "x\x1b[2J\nheddle: all is well\u202e\u009b"

// Whatever a person reads of a workflow has nothing in it that a terminal obeys,
// and as many lines as we write ourselves.
func TestNothingOfAWorkflowReachesTheTerminalRaw(t *testing.T) {
	value, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	value = bytes.ReplaceAll(value, []byte(`\u202e`), []byte("\u202e"))
	trouble := client.TaskError{Type: hostile, Message: hostile}
	w := &client.Workflow{
		ID: hostile, Status: "failed", Labels: map[string]any{hostile: hostile}, Definition: client.DefinitionRef{Name: hostile},
		Failure: &client.Failure{Component: hostile, Runnable: "r1", Error: trouble}, Owner: &client.Owner{Instance: hostile},
		ConditionErrors: &client.ConditionErrors{Count: 2, First: []client.Failure{{Component: hostile, Runnable: "r1", Error: trouble}}},
		Refusals:        &client.Refusals{Count: 1, Last: client.LastRefusal{Command: "skip", Code: "closed", Message: hostile}},
	}
	doubtful := *w
	doubtful.Status = "idle"
	fields := `{"position":"1.2","time":"2026-01-01T00:00:00Z","type":"WorkflowFailed","component":` + string(value) + `,"why":` + string(value) +
		`,"value":` + string(value) + `,"error":{"type":` + string(value) + `,"message":` + string(value) + `}}`
	e := event(t, fields)
	for what, c := range map[string]struct {
		lines int
		print func(a *app)
	}{
		"get":  {15, func(a *app) { printWorkflow(a.out, w) }},
		"list": {2, func(a *app) { printList(a.out, []client.Workflow{*w}) }},
		"lookup": {6, func(a *app) {
			printPlace(a.out, &client.Place{ID: hostile, Owner: &client.Owner{Instance: hostile}, Readiness: client.PartitionReadiness{Reasons: []string{hostile}}})
		}},
		"runnables": {2, func(a *app) {
			printRunnables(a.out, []client.Runnable{{ID: "r1", Component: hostile, Error: &trouble, Fallback: hostile}}, true)
		}},
		"explain": {5, func(a *app) {
			printExplanation(a.out, hostile, &explained{
				Status: "running", Reasons: []string{hostile},
				listed: listed[client.Runnable]{Items: []client.Runnable{{ID: "r1", Component: hostile, Error: &trouble}}},
			})
		}},
		"key": {6, func(a *app) {
			summary := client.KeySummary{Name: hostile, Kind: "concurrency", Limit: 1, Held: 1, Queued: 1}
			one := []client.KeyPermit{{Workflow: hostile, Runnable: "r1"}}
			printKey(a.out, &client.Key{KeySummary: summary, Holders: one, Queue: one})
			printKey(a.out, &client.Key{KeySummary: client.KeySummary{Name: hostile, Kind: "breaker", State: hostile, Limit: 1}})
		}},
		"pool": {11, func(a *app) {
			work := client.PoolWork{Workflow: hostile, Runnable: "r1", Queue: hostile, Place: 1}
			printPool(a.out, &client.Pool{
				PoolSummary: client.PoolSummary{Name: hostile, Queued: 3, Waits: hostile}, More: true, Asked: &work, Queue: []client.PoolWork{work},
				Runners: []client.Runner{{ID: hostile, Key: hostile, Name: hostile, State: hostile, Reason: hostile}},
			}, true, time.Time{})
		}},
		"pools":    {2, func(a *app) { printPools(a.out, []client.PoolSummary{{Name: hostile, Waits: hostile}}, time.Time{}) }},
		"keys":     {2, func(a *app) { printKeys(a.out, []client.KeySummary{{Name: hostile, Kind: "rate", Limit: 1, PerMs: 1}}) }},
		"history":  {2, func(a *app) { printHistory(a.out, []client.Event{e}) }},
		"progress": {1, func(a *app) { newProgress(a.out).event(e) }},
		"results":  {1, func(a *app) { printValues(a.out, map[string]json.RawMessage{hostile: value}) }},
		"lists":    {1, func(a *app) { printLists(a.out, map[string][]json.RawMessage{hostile: {value}}) }},
		"failure":  {1, func(a *app) { report(a.out, outcome(w, 0)) }},
		"doubt":    {3, func(a *app) { report(a.out, outcome(&doubtful, 0)) }},
		"watch": {1, func(a *app) {
			if err := a.printEvent(e, time.Time{}); err != nil {
				t.Error(err)
			}
		}},
		"a refusal": {2, func(a *app) { report(a.out, &client.Error{Code: "closed", Message: hostile}) }},
		"a warning": {2, func(a *app) {
			a.warn(&client.Definition{Warnings: []client.FieldError{{Path: "p", Message: hostile}}})
		}},
	} {
		var out bytes.Buffer
		c.print(&app{streams: streams{out: &out, err: &out}})
		if n := strings.Count(out.String(), "\n"); n != c.lines {
			t.Errorf("%s has %d lines, want %d:\n%q", what, n, c.lines, out.String())
		}
		if strings.Contains(out.String(), "\nheddle: ") {
			t.Errorf("%s has a line of somebody else's: %q", what, out.String())
		}
		for _, r := range out.String() {
			if r != '\n' && !unicode.IsGraphic(r) {
				t.Errorf("%s has %q: %q", what, r, out.String())
				break
			}
		}
	}
	if got := told(errors.New("a:\n  b: c")); got != "a:\n  b: c" {
		t.Errorf("our own lines become %q", got)
	}
	var raw bytes.Buffer
	if err := (&app{json: true, streams: streams{out: &raw}}).printEvent(e, time.Time{}); err != nil || !strings.Contains(raw.String(), "\u202e") {
		t.Errorf("JSON is changed: %q, %v", raw.String(), err)
	}
}
