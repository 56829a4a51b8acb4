package definition_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

func options(t *testing.T, src string) definition.Options {
	t.Helper()
	o, err := definition.ParseOptions(json.RawMessage(src), "options")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOptionsAreRead(t *testing.T) {
	skip, drain := policy.Skip, 90*time.Second
	for src, want := range map[string]definition.Options{
		`{}`:                              {},
		`{"max_concurrency": 16}`:         {MaxConcurrency: 16},
		`{"checkpoint": "every_cycle"}`:   {Checkpoint: definition.Checkpoint{Strategy: definition.EveryCycle}},
		`{"checkpoint": {"every_n": 10}}`: {Checkpoint: definition.Checkpoint{Strategy: definition.EveryN, N: 10}},
		`{"checkpoint": "on_complete"}`:   {Checkpoint: definition.Checkpoint{Strategy: definition.OnComplete}},
		`{"retain": {"completed": "7d", "idle": "forever"}}`: {Retain: definition.Retain{Completed: 7 * 24 * time.Hour, Idle: definition.Forever}},
		`{"checkpoint": "manual"}`:                           {Checkpoint: definition.Checkpoint{Strategy: definition.Manual}},
		`{"close": "never"}`:                                 {Close: definition.Never},
		`{"close": "on_idle"}`:                               {Close: definition.OnIdle},
		`{"drain": "PT90S"}`:                                 {Drain: &drain},
		`{"drain_ms": 90000}`:                                {Drain: &drain},
		`{"on_failure": "skip"}`:                             {OnFailure: &skip},
		`{"labels": {"b": "x", "a": 1.5, "c/d": true}}`:      {Labels: []definition.Label{{Name: "a", Literal: "1.5"}, {Name: "b", Literal: "x"}, {Name: "c/d", Literal: "true"}}},
	} {
		if got := options(t, src); !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %+v, want %+v", src, got, want)
		}
	}
	var all definition.Errors
	if _, err := definition.ParseOptions(json.RawMessage(`{"max_concurrency": 0, "x": 1}`), "start.options"); !errors.As(err, &all) || len(all) != 2 || all[0].Path != "start.options.max_concurrency" {
		t.Errorf("got %v", err)
	}
}

func TestAWorkflowsOptionsWin(t *testing.T) {
	base := options(t, `{"max_concurrency": 16, "checkpoint": "manual", "close": "on_idle", "drain": "1s", "on_failure": "skip", "labels": {"a": "1", "c": "3"}}`)
	own := options(t, `{"max_concurrency": 2, "checkpoint": {"every_n": 2}, "close": "never", "drain": "0s", "on_failure": "halt", "labels": {"b": "2", "c": "4"}}`)
	if got := (definition.Options{}).Over(base); !reflect.DeepEqual(got, base) {
		t.Errorf("without its own: %+v", got)
	}
	want := own
	want.Labels = []definition.Label{{Name: "a", Literal: "1"}, {Name: "b", Literal: "2"}, {Name: "c", Literal: "4"}}
	if got := own.Over(base); !reflect.DeepEqual(got, want) {
		t.Errorf("with its own: %+v", got)
	}
}

func TestLabelsAreEvaluatedOverTheInput(t *testing.T) {
	o := options(t, `{"labels": {"a": {"$": "input.customer"}, "b": {"$": "input.n * 2"}, "c": {"$": "input.z"}, "d": {"$": "repeat('x', 300)"}}}`)
	env := expr.Env{Input: json.RawMessage(`{"customer": "ann", "n": 4}`)}
	for i, want := range []string{"ann", "8"} {
		if got, err := o.Labels[i].Of(env); err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", o.Labels[i].Name, got, err, want)
		}
	}
	for _, l := range o.Labels[2:] {
		if got, err := l.Of(env); err == nil {
			t.Errorf("%s = %q", l.Name, got)
		}
	}
}
