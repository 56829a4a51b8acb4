package main

import (
	"strings"
	"testing"
)

const brief = `
name: brief
components:
  twice: {expr: input * 2}
options: {close: on_idle, retain: {completed: 300ms}, labels: {customer: acme}}
`

// What is forgotten is listed, searched, shown and restored from the archive, and a list says what is archived.
func TestTheArchiveIsReadByCommands(t *testing.T) {
	elsewhere(t)
	write(t, "brief.yaml", brief)
	running(t, "brief.yaml")
	succeed(t, "start", "brief", "--id", "brief-1", "--input", "21", "--wait", "30s")
	eventually(t, "it is forgotten, and archived", func() bool {
		_, _, told := heddle(t, "", "get", "brief-1") // which asks its planner: a list may not have it yet
		return strings.Contains(told, "not_found") && strings.Contains(succeed(t, "list", "--archived"), "completed, archived")
	})
	contains(t, succeed(t, "list", "--archived"), "brief-1", "completed, archived")
	contains(t, succeed(t, "archive", "list", "--where", "label.customer=acme status=completed"), "brief-1", "RECORDS")
	contains(t, succeed(t, "archive", "search", "ACME", "brief"), "brief-1")
	contains(t, succeed(t, "archive", "show", "brief-1"), "completed", "twice", "42", "records")
	contains(t, succeed(t, "archive", "show", "brief-1", "--history"), "WorkflowStarted", "twice")
	if out := succeed(t, "archive", "search", "nobody"); strings.Contains(out, "brief-1") {
		t.Errorf("nobody is found: %s", out)
	}
	contains(t, succeed(t, "archive", "restore", "brief-1", "--by", "ann", "--why", "to look at it"), "brief-1 is restored, and is completed", "it was over")
	for line, want := range map[string]string{
		"archive show nobody":               "the archive has no workflow",
		"archive show brief-1 --run 7.7":    "the archive has no run 7.7",
		"archive restore nobody":            "the archive has no workflow",
		"archive list --where status=faild": "did you mean failed?",
	} {
		if code, _, told := heddle(t, "", strings.Fields(line)...); code == 0 || !strings.Contains(told, want) {
			t.Errorf("%q: exit %d: %s", line, code, told)
		}
	}
}

// An archiver without a store, or with one that nobody knows, is wrong usage.
func TestAnArchiverNeedsAStore(t *testing.T) {
	elsewhere(t)
	for line, want := range map[string]string{
		"archiver --brokers localhost:1":                             "--archive-store",
		"gateway --brokers localhost:1 --archiver":                   "--archive-store",
		"archiver --brokers localhost:1 --archive-keep everything":   "must be one of",
		"planner --brokers localhost:1 --data x --archive-store x:y": "unknown flag",
	} {
		if code, _, told := heddle(t, "", strings.Fields(line)...); code != codeUsage || !strings.Contains(told, want) {
			t.Errorf("%q: exit %d: %s", line, code, told)
		}
	}
}
