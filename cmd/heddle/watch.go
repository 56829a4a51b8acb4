package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// watchCmd follows the events of a workflow.
type watchCmd struct {
	remote
	ID   string `arg:"" help:"The workflow."`
	Stay bool   `env:"-" help:"Go on watching a workflow that is idle, failed or stopped."`
}

// Run implements the command.
func (c *watchCmd) Run(a *app) error {
	cl, err := c.open()
	if err != nil {
		return err
	}
	defer cl.Close()
	began := time.Time{}
	for e, err := range cl.Run(c.ID).Events(a) {
		if err != nil {
			return err
		}
		if began.IsZero() {
			began = e.Time
		}
		if err := a.printEvent(e, began); err != nil {
			return err
		}
		if ends(e.Type) || !c.Stay && rests(e.Type) {
			return nil
		}
	}
	return a.Err()
}

// printEvent writes one event as a line: its time since began, or JSON.
func (a *app) printEvent(e client.Event, began time.Time) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(e)
	}
	_, err := fmt.Fprintf(a.out, "%9.3fs  %-20s %s\n", e.Time.Sub(began).Seconds(), e.Type, fields(e, maxField))
	return err
}

// ends says whether no event can follow in this run.
func ends(event string) bool {
	switch event {
	case "WorkflowCompleted", "WorkflowCancelled", "WorkflowDeleted":
		return true
	}
	return false
}

// rests says whether nothing follows by itself.
func rests(event string) bool {
	switch event {
	case "WorkflowIdle", "WorkflowFailed", "WorkflowStopped":
		return true
	}
	return false
}
