package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/definition"
)

// defineCmd registers a definition.
type defineCmd struct {
	remote
	File  string `arg:"" help:"The definition, YAML or JSON; - is the standard input."`
	Check bool   `env:"-" help:"Only check it; needs no deployment."`
}

// Run implements the command.
func (c *defineCmd) Run(a *app) error {
	def, err := a.readDefinition(c.File)
	if err != nil {
		return err
	}
	verb, out := "is valid", checked(def)
	if !c.Check {
		cl, err := c.open(a)
		if err != nil {
			return err
		}
		defer cl.Close()
		if out, err = cl.Define(a, def.Name, def.Canonical()); err != nil {
			return err
		}
		verb = "is registered"
	}
	return a.print(out, func(w io.Writer) {
		a.warn(out)
		fmt.Fprintf(w, "%s %s\n%s\n", shown(versioned(out.DefinitionRef)), verb, out.Digest)
	})
}

// checked is what a deployment would answer to a definition that is only checked.
func checked(def *definition.Definition) *client.Definition {
	out := &client.Definition{DefinitionRef: client.DefinitionRef{Name: def.Name, Version: def.Version, Digest: def.Digest}}
	for _, w := range def.Warnings {
		out.Warnings = append(out.Warnings, client.FieldError{Path: w.Path, Message: w.Advice()})
	}
	return out
}

// warn tells what is legal but looks like a mistake.
func (a *app) warn(def *client.Definition) {
	for _, w := range def.Warnings {
		text := w.Message
		if w.Path != "" {
			text = w.Path + ": " + text
		}
		fmt.Fprintln(a.err, "warning: "+paragraph(text))
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
		return nil, &definitionFileError{file, errs}
	}
	if err != nil {
		return nil, fmt.Errorf("%s is no valid definition: %w", file, err)
	}
	return def, nil
}

// definitionFileError is what is wrong with a definition file.
type definitionFileError struct {
	file string
	errs definition.Errors
}

func (e *definitionFileError) Error() string {
	list := e.file + " is no valid definition:"
	for _, one := range e.errs {
		list += "\n  "
		if one.Line > 0 {
			list += fmt.Sprintf("%s:%d:%d: ", e.file, one.Line, one.Column)
		}
		list += one.Error()
	}
	return list
}
