package main

import (
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
	cl, err := c.open()
	if err != nil {
		return err
	}
	defer cl.Close()
	if c.Wait > 0 {
		ctx, _, cancel := waiting(a, c.Wait)
		defer cancel()
		run, err := cl.InputAndWait(ctx, c.ID, input, o)
		if err != nil {
			return outOfTime(ctx, a, err)
		}
		return a.printRun(ctx, run, true)
	}
	w, err := cl.Input(a, c.ID, input, o)
	if err != nil {
		return err
	}
	return a.printRun(a, &client.Run{ID: c.ID, Started: w}, false)
}

func (c *inputCmd) options(a *app) (client.InputOptions, error) {
	o := client.InputOptions{Key: c.Key, Why: client.Why{By: c.By, Why: c.Why}}
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
