package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/internal/conformance"
	"github.com/heddle-run/heddle/shared/frames"
)

// conformanceCmd tries clients of protocols.
type conformanceCmd struct {
	Runner conformanceRunnerCmd `cmd:"" help:"Try a client of the runner protocol, in whatever language, against a scripted server."`
}

// conformanceRunnerCmd tries a client of the runner protocol.
type conformanceRunnerCmd struct {
	Cmd      string   `env:"-" required:"" placeholder:"'PROGRAM ARG ...'" help:"The client: a program and its arguments, with spaces between them, and no shell. It finds where to connect in its environment (docs/runner-clients.md)."`
	Encoding string   `env:"-" enum:"json,binary" default:"json" help:"What the client is asked to write its frames in: ${enum}."`
	Scale    float64  `env:"-" default:"0.02" help:"What the client's times are multiplied by: its minutes become seconds."`
	Case     []string `env:"-" placeholder:"CASE" help:"Names of cases to play; without any, all of them."`
	Parallel int      `env:"-" default:"8" help:"How many cases are played at a time."`
	Output   bool     `env:"-" name:"client-output" help:"Show what the client has written where it does not pass."`
}

// Run implements the command.
func (c *conformanceRunnerCmd) Run(a *app) error {
	encoding, err := frames.ParseEncoding(c.Encoding)
	if err != nil {
		return usageError("%w", err)
	}
	played, failed := 0, 0
	err = conformance.Run(a, conformance.Options{
		Command: strings.Fields(c.Cmd), Encoding: encoding, Scale: c.Scale, Only: c.Case, Parallel: c.Parallel,
	}, func(r conformance.Result) {
		if played++; r.Failure != "" {
			failed++
		}
		c.show(a, r)
	})
	if err != nil {
		return usageError("%w", err)
	}
	if failed > 0 {
		return &exitError{codeFailed, fmt.Errorf("the client does not pass %d of %d cases", failed, played)}
	}
	if !a.json {
		fmt.Fprintf(a.out, "the client passes all %d cases\n", played)
	}
	return nil
}

func (c *conformanceRunnerCmd) show(a *app, r conformance.Result) {
	if a.json {
		err := json.NewEncoder(a.out).Encode(map[string]string{"case": r.Name, "about": r.About, "failure": r.Failure})
		if err != nil {
			fmt.Fprintln(a.err, errors.Join(errors.New("heddle: writing a result"), err))
		}
		return
	}
	if r.Failure == "" {
		fmt.Fprintf(a.out, "ok    %s  %s\n", r.Name, r.About)
		return
	}
	fmt.Fprintf(a.out, "FAIL  %s  %s: %s\n", r.Name, r.About, shown(r.Failure))
	if c.Output {
		fmt.Fprintln(a.out, paragraph(r.Output))
	}
}
