package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// startCmd starts a workflow.
type startCmd struct {
	remote
	Definition string `arg:"" help:"A registered name, NAME@VERSION, a digest, or a definition file."`
	valueArgs
	startArgs
	Wait time.Duration `env:"-" help:"Wait so long for the results; without it, until the start is decided."`
}

// startArgs are what a start can carry beside its input.
type startArgs struct {
	ID       string `env:"-" placeholder:"ID" help:"The workflow's id; without it a random one."`
	Policies string `env:"-" placeholder:"JSON" help:"Policy rules of this workflow: JSON or @FILE."`
	Options  string `env:"-" placeholder:"JSON" help:"Options of this workflow: JSON or @FILE."`
	Context  string `env:"-" placeholder:"JSON" help:"Values given with the run: JSON or @FILE."`
	Own      string `env:"-" name:"component-context" placeholder:"JSON" help:"Values given to components alone, by name: JSON or @FILE."`
	Key      string `env:"-" placeholder:"KEY" help:"Idempotency key: the same start twice under one key is one start."`
	By       string `env:"-" help:"Who asks; kept in the history."`
	Why      string `env:"-" help:"Why; kept in the history."`
}

// Run implements the command.
func (c *startCmd) Run(a *app) error {
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
	ctx, wait, cancel := waiting(a, c.Wait)
	defer cancel()
	run, err := c.start(ctx, a, cl, def, input, wait)
	if err != nil {
		return outOfTime(ctx, a, err)
	}
	return a.goesOn(run.ID, a.printRun(ctx, run, c.Wait > 0, 0))
}

// waiting bounds a wait for results; without one nothing is waited for.
func waiting(a *app, d time.Duration) (context.Context, client.Wait, context.CancelFunc) {
	if d <= 0 {
		return a, client.UntilDecided, func() {}
	}
	ctx, cancel := context.WithTimeout(a, d)
	return ctx, client.UntilDrained, cancel
}

// outOfTime says so when a wait that the user bounded has ended.
func outOfTime(ctx context.Context, a *app, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && a.Err() == nil {
		return fmt.Errorf("still at work when the wait was over; it goes on: %w", err)
	}
	return err
}

// definitionArg is what a start names; a file is registered first.
func (a *app) definitionArg(cl *client.Client, arg string) (string, error) {
	if !isFile(arg) {
		return arg, nil
	}
	def, err := a.readDefinition(arg)
	if err != nil {
		return "", err
	}
	registered, err := cl.Define(a, def.Name, def.Canonical())
	if err != nil {
		return "", err
	}
	a.warn(registered)
	return def.Digest, nil
}

var fileSuffixes = []string{".yaml", ".yml", ".json"}

// isFile reports whether an argument means a definition file and not a name.
func isFile(arg string) bool {
	for _, suffix := range fileSuffixes {
		if strings.HasSuffix(arg, suffix) {
			return true
		}
	}
	return arg == "-"
}

// start sends the start.
func (c *startArgs) start(ctx context.Context, a *app, cl *client.Client, def string, input json.RawMessage, wait client.Wait) (*client.Run, error) {
	o := client.StartOptions{ID: c.ID, IdempotencyKey: c.Key, Wait: wait, By: client.By{Who: c.By, Why: c.Why}}
	for _, given := range []struct {
		name, arg string
		option    *any
	}{
		{"--policies", c.Policies, &o.Policies},
		{"--options", c.Options, &o.Options},
		{"--context", c.Context, &o.Context},
		{"--component-context", c.Own, &o.ComponentContext},
	} {
		raw, err := a.jsonArg(given.name, given.arg)
		if err != nil {
			return nil, err
		}
		if raw != nil {
			*given.option = raw
		}
	}
	var in any
	if input != nil {
		in = input
	}
	run, err := cl.Start(ctx, def, in, o)
	return run, noFile(def, err)
}

// noFile adds to the error of a definition that is unknown why a file of that name was
// not read.
func noFile(name string, err error) error {
	if !errors.Is(err, &client.Error{Code: "unknown_definition"}) {
		return err
	}
	if info, missing := os.Stat(name); missing != nil || info.IsDir() {
		return err
	}
	return fmt.Errorf("%w; the file %s was not read: a definition file ends in %s", err, name, strings.Join(fileSuffixes, ", "))
}

// startedOutput is what `start -o json` and `input -o json` print.
type startedOutput struct {
	Workflow *client.Workflow           `json:"workflow"`
	Results  map[string]json.RawMessage `json:"results"`
}

// printRun prints what a start or an input led to: with the results when they
// were waited for. A workflow that has failed is an error, and so are conditions
// that could not be evaluated, but for those that were known before.
func (a *app) printRun(ctx context.Context, run *client.Run, waited bool, known uint64) error {
	out := startedOutput{Workflow: run.Started}
	if waited {
		var err error
		if out.Workflow, err = run.Wait(ctx); err != nil {
			return outOfTime(ctx, a, err)
		}
		if out.Results, err = run.Results(ctx); err != nil {
			return err
		}
	}
	err := a.print(out, func(w io.Writer) {
		fmt.Fprintf(w, "%s  %s\n", shown(run.ID), shown(out.Workflow.Status))
		printValues(w, out.Results)
	})
	if err != nil {
		return err
	}
	return outcome(out.Workflow, known)
}
