package main

import "io"

// getCmd prints a workflow.
type getCmd struct {
	remote
	ID string `arg:"" help:"The workflow."`
}

// Run implements the command.
func (c *getCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	w, err := cl.Get(a, c.ID)
	if err != nil {
		return err
	}
	return a.print(w, func(out io.Writer) { printWorkflow(out, w) })
}
