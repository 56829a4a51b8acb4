package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/internal/conformance"
	"github.com/heddle-run/heddle/shared/frames"
)

// conformanceCmd tries who speaks a protocol.
type conformanceCmd struct {
	Runner conformanceRunnerCmd `cmd:"" help:"Try a client of the runner protocol, in whatever language, against a scripted server."`
	Server conformanceServerCmd `cmd:"" help:"Try a deployment with scripted runners: that its executors and pools keep the runner protocol. It takes about two and a half minutes, and needs its settings of times to be the defaults."`
}

// cases are those that are played.
type cases struct {
	Encoding string   `env:"-" enum:"json,binary" default:"json" help:"What frames are written in: ${enum}."`
	Case     []string `env:"-" placeholder:"CASE" help:"Names of cases to play; without any, all of them."`
}

// conformanceRunnerCmd tries a client of the runner protocol.
type conformanceRunnerCmd struct {
	cases
	Cmd      string  `env:"-" required:"" placeholder:"'PROGRAM ARG ...'" help:"The client: a program and its arguments, with spaces between them, and no shell. It finds where to connect in its environment (docs/runner-clients.md)."`
	Scale    float64 `env:"-" default:"0.02" help:"What the client's times are multiplied by: its minutes become seconds."`
	Parallel int     `env:"-" default:"8" help:"How many cases are played at a time."`
	Output   bool    `env:"-" name:"client-output" help:"Show what the client has written where it does not pass."`
}

// Run implements the command.
func (c *conformanceRunnerCmd) Run(a *app) error {
	return c.play(a, "the client", c.Output, func(encoding frames.Encoding, tell func(conformance.Result)) error {
		return conformance.Run(a, conformance.Options{
			Command: strings.Fields(c.Cmd), Encoding: encoding, Scale: c.Scale, Only: c.Case, Parallel: c.Parallel,
		}, tell)
	})
}

// conformanceServerCmd tries a deployment.
type conformanceServerCmd struct {
	remote
	cases
	Runners     []string `env:"-" required:"" placeholder:"ws://HOST:PORT" help:"Where runners connect, as heddle dev says; with several executors, runners move between them."`
	RunnerToken string   `placeholder:"SECRET" help:"Token that runners connect with; better given by $$HEDDLE_RUNNER_TOKEN. Without one, tokens are not tried."`
	Parallel    int      `env:"-" help:"How many cases are played at a time; 0: all."`
}

// Run implements the command.
func (c *conformanceServerCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	hc, err := c.client()
	if err != nil {
		return err
	}
	return c.play(a, "the deployment", false, func(encoding frames.Encoding, tell func(conformance.Result)) error {
		return conformance.RunServer(a, conformance.ServerOptions{
			URLs: c.Runners, Token: c.RunnerToken, Encoding: encoding, HTTP: hc, API: cl, Only: c.Case, Parallel: c.Parallel,
		}, tell)
	})
}

// play has cases played, and tells what is passed.
func (c *cases) play(a *app, who string, output bool, run func(frames.Encoding, func(conformance.Result)) error) error {
	encoding, err := frames.ParseEncoding(c.Encoding)
	if err != nil {
		return usageError("%w", err)
	}
	played, failed := 0, 0
	err = run(encoding, func(r conformance.Result) {
		if played++; r.Failure != "" {
			failed++
		}
		showCase(a, r, output)
	})
	if err != nil {
		return usageError("%w", err)
	}
	if failed > 0 {
		return &exitError{codeFailed, fmt.Errorf("%s does not pass %d of %d cases", who, failed, played)}
	}
	if !a.json {
		fmt.Fprintf(a.out, "%s passes all %d cases\n", who, played)
	}
	return nil
}

func showCase(a *app, r conformance.Result, output bool) {
	if a.json {
		err := json.NewEncoder(a.out).Encode(map[string]string{"case": r.Name, "about": r.About, "failure": r.Failure, "among": r.Among})
		if err != nil {
			fmt.Fprintln(a.err, errors.Join(errors.New("heddle: writing a result"), err))
		}
		return
	}
	if r.Failure == "" {
		late := ""
		if r.Among != "" {
			late = " (played by itself; among others: " + shown(r.Among) + ")"
		}
		fmt.Fprintf(a.out, "ok    %s  %s%s\n", r.Name, r.About, late)
		return
	}
	fmt.Fprintf(a.out, "FAIL  %s  %s: %s\n", r.Name, r.About, shown(r.Failure))
	if output {
		fmt.Fprintln(a.out, paragraph(r.Output))
	}
}
