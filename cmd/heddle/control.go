package main

import (
	"fmt"
	"io"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// controlArgs are what every control command takes.
type controlArgs struct {
	remote
	ID  string `arg:"" help:"The workflow."`
	By  string `env:"-" help:"Who asks; kept in the history."`
	Why string `env:"-" help:"Why; kept in the history."`
}

func (c *controlArgs) by() client.By { return client.By{Who: c.By, Why: c.Why} }

// do connects, lets send send the command, and prints the workflow as it is then.
func (c *controlArgs) do(a *app, send func(cl *client.Client) (*client.Workflow, error)) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	w, err := send(cl)
	if err != nil {
		return err
	}
	return a.print(w, func(out io.Writer) { fmt.Fprintf(out, "%s  %s\n", shown(w.ID), shown(w.Status)) })
}

type pauseCmd struct{ controlArgs }

// Run implements the command.
func (c *pauseCmd) Run(a *app) error {
	return c.do(a, func(cl *client.Client) (*client.Workflow, error) { return cl.Pause(a, c.ID, c.by()) })
}

type resumeCmd struct {
	controlArgs
	Policies string `env:"-" placeholder:"JSON" help:"Policy rules of this workflow from now on, in place of those that it was given: JSON or @FILE."`
	Context  string `env:"-" placeholder:"JSON" help:"Values laid over those given with the run: JSON or @FILE."`
}

// Run implements the command.
func (c *resumeCmd) Run(a *app) error {
	o := client.ResumeOptions{By: c.by()}
	policies, err := a.jsonArg("--policies", c.Policies)
	if err != nil {
		return err
	}
	if policies != nil {
		o.Policies = policies
	}
	values, err := a.jsonArg("--context", c.Context)
	if err != nil {
		return err
	}
	if values != nil {
		o.Context = values
	}
	return c.do(a, func(cl *client.Client) (*client.Workflow, error) { return cl.Resume(a, c.ID, o) })
}

type cancelCmd struct{ manyArgs }

// Run implements the command.
func (c *cancelCmd) Run(a *app) error {
	if c.many() {
		return c.bulk(a, bulkOrder{Command: "cancel"})
	}
	return c.do(a, func(cl *client.Client) (*client.Workflow, error) { return cl.Cancel(a, c.ID, c.by()) })
}

type setPoliciesCmd struct {
	controlArgs
	Policies string `arg:"" placeholder:"JSON" help:"The rules, in place of those that it was given: JSON, @FILE or -; [] takes them away."`
}

// Run implements the command.
func (c *setPoliciesCmd) Run(a *app) error {
	rules, err := a.jsonArg("policies", c.Policies)
	if err != nil {
		return err
	}
	return c.do(a, func(cl *client.Client) (*client.Workflow, error) { return cl.SetPolicies(a, c.ID, rules, c.by()) })
}

type migrateCmd struct {
	controlArgs
	Definition string `arg:"" help:"A registered name, NAME@VERSION, a digest, or a definition file."`
}

// Run implements the command.
func (c *migrateCmd) Run(a *app) error {
	return c.do(a, func(cl *client.Client) (*client.Workflow, error) {
		def, err := a.definitionArg(cl, c.Definition)
		if err != nil {
			return nil, err
		}
		w, err := cl.Migrate(a, c.ID, def, c.by())
		return w, noFile(c.Definition, err)
	})
}

type checkpointCmd struct{ controlArgs }

// Run implements the command.
func (c *checkpointCmd) Run(a *app) error {
	return c.do(a, func(cl *client.Client) (*client.Workflow, error) { return cl.Checkpoint(a, c.ID, c.by()) })
}

type stopCmd struct {
	controlArgs
	Drain   time.Duration `env:"-" help:"How long active attempts may go on; without it the workflow's own limit."`
	Persist bool          `env:"-" negatable:"" default:"true" help:"Checkpoint the workflow when it has stopped."`
}

// Run implements the command.
func (c *stopCmd) Run(a *app) error {
	o := client.StopOptions{Drain: c.Drain, Abandon: !c.Persist, By: c.by()}
	return c.do(a, func(cl *client.Client) (*client.Workflow, error) { return cl.Stop(a, c.ID, o) })
}

type retryCmd struct {
	manyArgs
	Runnable  []string `env:"-" short:"r" help:"Only these failed runnables; without it all."`
	Component string   `env:"-" help:"Only those of this component."`
	Input     string   `env:"-" placeholder:"JSON" help:"Edited input for what is retried: JSON, @FILE or -."`
}

// Run implements the command.
func (c *retryCmd) Run(a *app) error {
	o := client.RetryOptions{Runnables: c.Runnable, Component: c.Component, By: c.by()}
	input, err := a.jsonArg("--input", c.Input)
	if err != nil {
		return err
	}
	if c.many() {
		if len(c.Runnable) > 0 {
			return usageError("--runnable is of one workflow; with --where, --component says which runnables are meant")
		}
		return c.bulk(a, bulkOrder{Command: "retry", Component: c.Component, Input: input})
	}
	if input != nil {
		o.Input = input
	}
	return c.do(a, func(cl *client.Client) (*client.Workflow, error) { return cl.Retry(a, c.ID, o) })
}

type skipCmd struct {
	manyArgs
	Runnable  string `arg:"" optional:"" help:"The runnable to give up, as in r7."`
	Component string `env:"-" group:"Many workflows" help:"With --where: give up what has failed of this component; without it all that has failed."`
}

// Run implements the command.
func (c *skipCmd) Run(a *app) error {
	if c.many() {
		return c.bulk(a, bulkOrder{Command: "skip", Component: c.Component})
	}
	switch {
	case c.Component != "":
		return usageError("--component goes with --where; of one workflow, name the runnable")
	case c.ID != "" && c.Runnable == "":
		return usageError("name the runnable to give up, as in r7; heddle runnables %s --status failed lists them", c.ID)
	}
	return c.do(a, func(cl *client.Client) (*client.Workflow, error) { return cl.Skip(a, c.ID, c.Runnable, c.by()) })
}

type signalCmd struct {
	controlArgs
	Name           string `arg:"" help:"The signal's name."`
	Key            string `env:"-" help:"The signal's key, for components that want one."`
	Input          string `env:"-" short:"i" placeholder:"JSON" help:"The signal's value: JSON, @FILE or - for the standard input; without it null."`
	IdempotencyKey string `env:"-" placeholder:"KEY" help:"The same signal twice under one key is one signal."`
}

// Run implements the command.
func (c *signalCmd) Run(a *app) error {
	value, err := a.jsonArg("--input", c.Input)
	if err != nil {
		return err
	}
	o := client.SignalOptions{Key: c.Key, IdempotencyKey: c.IdempotencyKey, By: c.by()}
	return c.do(a, func(cl *client.Client) (*client.Workflow, error) { return cl.Signal(a, c.ID, c.Name, value, o) })
}

// deleted is what is left of a workflow that was deleted.
type deleted struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

type deleteCmd struct {
	manyArgs
	Force bool `env:"-" help:"Cancel it first if it is not closed."`
}

// Run implements the command.
func (c *deleteCmd) Run(a *app) error {
	if c.many() {
		return c.bulk(a, bulkOrder{Command: "delete", Force: c.Force})
	}
	if _, err := c.one(); err != nil {
		return err
	}
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := cl.Delete(a, c.ID, c.Force, c.by()); err != nil {
		return err
	}
	is := deleted{c.ID, "deleted"}
	return a.print(is, func(out io.Writer) { fmt.Fprintf(out, "%s  %s\n", shown(is.ID), is.Status) })
}
