package main

import (
	"context"
	"encoding/json"
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
	if err := follow(a, run, show); err != nil {
		return err
	}
	return a.printRun(a, run, true, 0)
}

// follow shows a run's events until nothing more happens by itself, and what
// waits for somebody to serve it.
func follow(ctx context.Context, run *client.Run, show io.Writer) error {
	p := newProgress(show)
	f := follower{event: p.event, tick: p.hint}
	return f.follow(ctx, run)
}
