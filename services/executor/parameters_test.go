package executor

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// A definition is checked against the parameters that tasks read.
func TestDefinitionsKnowTheParametersOfBuiltInTasks(t *testing.T) {
	for task, params := range map[string]any{"http.request": requestParams{}, "kafka.produce": produceParams{}, "terminal.submit": submitParams{}, "exec.command": commandParams{}} {
		var names []string
		typ := reflect.TypeOf(params)
		for i := range typ.NumField() {
			names = append(names, typ.Field(i).Tag.Get("json"))
		}
		slices.Sort(names)
		if got := definition.Parameters(task); !slices.Equal(got, names) {
			t.Errorf("%s has %v, its definition %v", task, names, got)
		}
	}
}

// A parameter that a task does not have is refused by name, for good, unless it
// came with the value that the parameters are laid over.
func TestUnknownParametersAreRefused(t *testing.T) {
	for _, c := range []struct{ task, input, want string }{
		{"test.fail", `{"times":2}`, `test.fail has no parameter "times", only n, then`},
		{"test.sleep", `{"mss":2}`, `test.sleep has no parameter "mss"; nearest: ms`},
		{"test.flaky", `{"rates":1}`, "nearest: rate"},
		{"test.flaky", `{"rate":0}`, ""},
		{"test.fail", `null`, ""},
		{"test.echo", `{"any":1}`, ""},
	} {
		_, err := testTasks()[c.task].Run(context.Background(), attemptOf(c.task, c.input, false))
		if c.want == "" {
			if err != nil {
				t.Errorf("%s %s: %v", c.task, c.input, err)
			}
			continue
		}
		e, ok := errors.AsType[*worker.TaskError](err)
		if !ok || e.Type != events.ErrorInvalidInput || !e.NonRetryable || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s %s: %v, want %q, not retryable", c.task, c.input, err, c.want)
		}
		if _, err := testTasks()[c.task].Run(context.Background(), attemptOf(c.task, c.input, true)); err != nil {
			t.Errorf("%s %s beside params: %v", c.task, c.input, err)
		}
	}
	for task, p := range map[string]any{"http.request": &requestParams{}, "kafka.produce": &produceParams{}, "terminal.submit": &submitParams{}, "exec.command": &commandParams{}} {
		if err := parameters(attemptOf(task, `{"bogus":1}`, false), p); err == nil || !strings.Contains(err.Error(), "bogus") {
			t.Errorf("%s {bogus: 1}: %v", task, err)
		}
	}
}

func attemptOf(task, input string, laid bool) *worker.Attempt {
	return &worker.Attempt{Spec: events.Task{Task: task, Input: json.RawMessage(input), Attempt: 1, Laid: laid}}
}
