package main

import (
	"encoding/json"
	"errors"
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
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	began := time.Time{}
	var printing error
	f := follower{stay: c.Stay, event: func(e client.Event) {
		if began.IsZero() {
			began = e.Time
		}
		if err := a.printEvent(e, began); printing == nil {
			printing = err
		}
	}}
	if err := f.follow(a, cl.Run(c.ID)); err != nil {
		return err
	}
	if printing != nil {
		return printing
	}
	w, err := cl.Get(a, c.ID)
	if errors.Is(err, client.ErrNotFound) {
		return nil // it was deleted, which the events have told
	}
	if err != nil {
		return err
	}
	return outcome(w, 0)
}

// printEvent writes one event as a line: its time since began, or JSON.
func (a *app) printEvent(e client.Event, began time.Time) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(e)
	}
	_, err := fmt.Fprintf(a.out, "%9.3fs  %-20s %s\n", e.Time.Sub(began).Seconds(), shown(e.Type), shown(fields(e, maxField)))
	return err
}
