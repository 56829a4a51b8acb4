package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/heddle-run/heddle/shared/expr"
)

// exprCmd tries an expression.
type exprCmd struct {
	Expression string `arg:"" help:"The expression, as in 'input.total > 1000'."`
	Input      string `env:"-" placeholder:"JSON" help:"What the expression sees as input: JSON, @FILE, or - for the standard input."`
	Context    string `env:"-" placeholder:"JSON" help:"What the expression sees as context: JSON or @FILE."`
	Workflow   string `env:"-" default:"example" help:"What the expression sees as workflow.id."`
	Condition  bool   `env:"-" help:"Check it as a condition, which must be true or false."`
}

// Run implements the command.
func (c *exprCmd) Run(a *app) error {
	compile := expr.Compile
	if c.Condition {
		compile = expr.CompileCondition
	}
	program, err := compile(c.Expression)
	if err != nil {
		return err
	}
	env := expr.Env{WorkflowID: c.Workflow, Now: time.Now()}
	if env.Input, err = a.jsonArg("--input", c.Input); err != nil {
		return err
	}
	if env.Context, err = a.jsonArg("--context", c.Context); err != nil {
		return err
	}
	value, err := program.Eval(env)
	if err != nil {
		return err
	}
	return a.print(value, func(w io.Writer) { fmt.Fprintln(w, shown(string(value))) })
}

// readJSON reads a JSON document from a file, or from the standard input where
// the name is a dash. An empty name gives nothing.
func (a *app) readJSON(name string) (json.RawMessage, error) {
	var b []byte
	var err error
	switch name {
	case "":
		return nil, nil
	case "-":
		b, err = io.ReadAll(a.in)
	default:
		b, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, usageError("reading JSON: %w", err)
	}
	return parseJSON(name, b)
}

// parseJSON checks that b is one JSON document.
func parseJSON(name string, b []byte) (json.RawMessage, error) {
	var raw json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, usageError("%s is not JSON: %w", name, err)
	}
	return raw, nil
}
