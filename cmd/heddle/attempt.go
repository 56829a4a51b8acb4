package main

import (
	"fmt"
	"io"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/task"
)

// completeCmd gives the result of an attempt.
type completeCmd struct {
	remote
	Token  string `arg:"" help:"The attempt's token."`
	Result string `env:"-" placeholder:"JSON" help:"The result: JSON, @FILE or -; without it null."`
}

// Run implements the command.
func (c *completeCmd) Run(a *app) error {
	result, err := a.jsonArg("--result", c.Result)
	if err != nil {
		return err
	}
	return c.report(a, func(cl *client.Client) (*client.Workflow, error) {
		if result == nil {
			return cl.Complete(a, c.Token, nil)
		}
		return cl.Complete(a, c.Token, result)
	})
}

// failCmd fails an attempt.
type failCmd struct {
	remote
	Token     string `arg:"" help:"The attempt's token."`
	Message   string `arg:"" help:"What went wrong."`
	Type      string `env:"-" default:"error" help:"The error's type, which policies match."`
	Retryable bool   `env:"-" negatable:"" default:"true" help:"Whether another attempt may help."`
}

// Run implements the command.
func (c *failCmd) Run(a *app) error {
	e := &task.Error{Type: c.Type, Message: c.Message, NonRetryable: !c.Retryable}
	return c.report(a, func(cl *client.Client) (*client.Workflow, error) { return cl.Fail(a, c.Token, e) })
}

// report connects, lets send tell how an attempt ended, and prints the workflow
// as it is then.
func (r *remote) report(a *app, send func(cl *client.Client) (*client.Workflow, error)) error {
	cl, err := r.open(a)
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
