package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/heddle-run/heddle/sdk/client"
)

// runCmd starts a workflow, watches it and prints its results.
type runCmd struct {
	remote
	Definition string `arg:"" help:"A definition file, a registered name, NAME@VERSION, or a digest."`
	valueArgs
	startArgs
	Quiet bool `env:"-" short:"q" help:"Do not show what happens on the way."`
}

// Run implements the command.
func (c *runCmd) Run(a *app) error {
	input, err := c.value(a)
	if err != nil {
		return err
	}
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	def, err := a.definitionArg(cl, c.Definition)
	if err != nil {
		return err
	}
	if input == nil {
		input = json.RawMessage("null") // a run without an input would do nothing
	}
	run, err := c.start(a, a, cl, def, input, client.UntilDecided)
	if err != nil {
		return err
	}
	show := io.Discard
	if !c.Quiet {
		show = a.err
		fmt.Fprintln(show, shown(run.ID))
	}
	err = follow(a, run, show)
	if err == nil {
		err = a.printRun(a, run, true, 0)
	}
	return a.goesOn(run.ID, err)
}

// goesOn says, where the user has interrupted a wait, that the workflow does not end
// with it.
func (a *app) goesOn(id string, err error) error {
	if a.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintf(a.err, "it goes on: heddle watch %s\n", shown(id))
	}
	return err
}

// follow shows a run's events until nothing more happens by itself, and what
// waits for somebody to serve it.
func follow(ctx context.Context, run *client.Run, show io.Writer) error {
	p := newProgress(show)
	f := follower{event: p.event, tick: p.hint}
	return f.follow(ctx, run)
}
