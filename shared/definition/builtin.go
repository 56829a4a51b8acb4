package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/spelling"
)

// builtins are the parameters of the tasks that the executor runs itself; a test of
// its holds that they are those that it reads. A nil list takes any.
var builtins = map[string][]string{
	"exec.command":    {"command", "env", "expect", "json", "map", "stdin", "timeout", "timeout_ms"},
	"http.request":    {"body", "expect", "headers", "map", "method", "timeout", "timeout_ms", "url"},
	"kafka.produce":   {"headers", "key", "topic", "value"},
	"terminal.submit": {"active", "attempts", "confirm", "direct", "leader", "presses", "ready", "reply", "socket", "target", "text", "worker"},
	"test.echo":       nil,
	"test.fail":       {"n", "then"},
	"test.flaky":      {"rate"},
	"test.sleep":      {"ms"},
}

// retriesOf are the retries of built-in tasks where no rule says how many: what a program in a terminal has not taken is
// delivered three times.
var retriesOf = map[string]int{"terminal.submit": 2}

// Parameters are the parameters of a built-in task, sorted; nil if it takes any, or is
// no built-in task.
func Parameters(task string) []string { return slices.Clone(builtins[task]) }

// UnknownParameter says what is wrong with a parameter of a task, and which one was
// probably meant; empty: nothing.
func UnknownParameter(task, name string) string {
	known := builtins[task]
	if known == nil || slices.Contains(known, name) {
		return ""
	}
	if best := spelling.Nearest(name, known); best != "" {
		return fmt.Sprintf("%s has no parameter %q; nearest: %s", task, name, best)
	}
	return fmt.Sprintf("%s has no parameter %q, only %s", task, name, strings.Join(known, ", "))
}

// CheckParams refuses params of built-in tasks that those do not have: they would be
// ignored. It is asked of what is registered and started, not of what runs. Its error
// is Errors.
func (g *Graph) CheckParams() error {
	var errs Errors
	for _, c := range g.Components {
		if c.Params == nil {
			continue
		}
		for _, f := range c.Params.fields {
			if wrong := UnknownParameter(c.Task, f.name); wrong != "" {
				errs = append(errs, Error{Path: c.path() + ".params." + f.name, Message: wrong})
			}
		}
	}
	if errs != nil {
		return errs
	}
	return nil
}

// CheckParams is that of its graph.
func (d *Definition) CheckParams() error {
	g, err := Compile(d)
	if err != nil {
		return err
	}
	return g.CheckParams()
}
