package main

import (
	"fmt"
	"io"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// inputCmd feeds a workflow an input.
type inputCmd struct {
	remote
	ID string `arg:"" help:"The workflow."`
	valueArgs
	Policies string        `env:"-" placeholder:"JSON" help:"Policy rules of this input: JSON or @FILE."`
	Replace  bool          `env:"-" help:"Let only the input's own rules hold for what descends from it."`
	Context  string        `env:"-" placeholder:"JSON" help:"Values given with the input: JSON or @FILE."`
	Key      string        `env:"-" placeholder:"KEY" help:"Idempotency key: the same input twice under one key is one input."`
	By       string        `env:"-" help:"Who asks; kept in the history."`
	Why      string        `env:"-" help:"Why; kept in the history."`
	Wait     time.Duration `env:"-" help:"Wait so long for the results; without it, until the input is decided."`
}

// Run implements the command.
func (c *inputCmd) Run(a *app) error {
	input, err := c.value(a)
	if err != nil {
		return err
	}
	if input == nil {
		return usageError("give the input as key=value pairs or with --input")
	}
	o, err := c.options(a)
	if err != nil {
		return err
	}
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	before, err := cl.Get(a, c.ID)
	if err != nil {
		return err
	}
	if before.Status == "failed" {
		return c.hold(a, cl, input, o)
	}
	known := before.ConditionErrors.Total()
	if c.Wait > 0 {
		ctx, _, cancel := waiting(a, c.Wait)
		defer cancel()
		run, err := cl.InputAndWait(ctx, c.ID, input, o)
		if err != nil {
			return outOfTime(ctx, a, err)
		}
		return a.printRun(ctx, run, true, known)
	}
	w, err := cl.Input(a, c.ID, input, o)
	if err != nil {
		return err
	}
	return a.printRun(a, &client.Run{ID: c.ID, Started: w}, false, known)
}

func (c *inputCmd) options(a *app) (client.InputOptions, error) {
	o := client.InputOptions{IdempotencyKey: c.Key, By: client.By{Who: c.By, Why: c.Why}}
	if c.Replace {
		o.Mode = "replace"
	}
	policies, err := a.jsonArg("--policies", c.Policies)
	if err != nil {
		return o, err
	}
	if policies != nil {
		o.Policies = policies
	}
	values, err := a.jsonArg("--context", c.Context)
	if values != nil {
		o.Context = values
	}
	return o, err
}

// hold feeds a workflow that has failed, which takes the input up later: nothing is
// waited for.
func (c *inputCmd) hold(a *app, cl *client.Client, input any, o client.InputOptions) error {
	w, err := cl.Input(a, c.ID, input, o)
	if err != nil {
		return err
	}
	if w.Status != "failed" {
		return a.printRun(a, &client.Run{ID: c.ID, Started: w}, false, w.ConditionErrors.Total())
	}
	if err := a.print(startedOutput{Workflow: w}, func(out io.Writer) { fmt.Fprintf(out, "%s  %s\n", shown(w.ID), shown(w.Status)) }); err != nil {
		return err
	}
	return &exitError{codeHeld, fmt.Errorf("the input is held: the workflow has failed, and takes it up after: heddle retry %s, or heddle skip %s RUNNABLE", c.ID, c.ID)}
}
