package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/heddle-run/heddle/shared/definition"
)

// defineCmd registers a definition.
type defineCmd struct {
	remote
	File  string `arg:"" help:"The definition, YAML or JSON; - is the standard input."`
	Check bool   `env:"-" help:"Only check it; needs no deployment."`
}

// defined is what `define -o json` prints.
type defined struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Digest   string   `json:"digest"`
	Warnings []string `json:"warnings,omitempty"`
}

// Run implements the command.
func (c *defineCmd) Run(a *app) error {
	def, err := a.readDefinition(c.File)
	if err != nil {
		return err
	}
	verb := "is valid"
	if !c.Check {
		cl, err := c.open(a)
		if err != nil {
			return err
		}
		defer cl.Close()
		if _, err := cl.Define(a, def.Name, def.Canonical()); err != nil {
			return err
		}
		verb = "is registered"
	}
	out := defined{Name: def.Name, Version: def.Version, Digest: def.Digest}
	for _, w := range def.Warnings {
		out.Warnings = append(out.Warnings, w.Error())
	}
	return a.print(out, func(w io.Writer) {
		a.warn(def)
		fmt.Fprintf(w, "%s %s\n%s\n", shown(definitionLabel(def)), verb, def.Digest)
	})
}

// warn tells what is legal but looks like a mistake.
func (a *app) warn(def *definition.Definition) {
	for _, w := range def.Warnings {
		fmt.Fprintln(a.err, "warning: "+paragraph(w.Error()))
	}
}

// readDefinition reads and checks a definition file. What is wrong with it is
// told line by line, each with its path.
func (a *app) readDefinition(file string) (*definition.Definition, error) {
	var src []byte
	var err error
	if file == "-" {
		src, err = io.ReadAll(a.in)
	} else {
		src, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, usageError("reading the definition: %w", err)
	}
	def, err := definition.Parse(src)
	var errs definition.Errors
	if errors.As(err, &errs) {
		list := fmt.Sprintf("%s is no valid definition:", file)
		for _, e := range errs {
			list += "\n  " + e.Error()
		}
		return nil, errors.New(list)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is no valid definition: %w", file, err)
	}
	return def, nil
}
