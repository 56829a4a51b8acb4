package expr_test

import (
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/expr"
)

func TestWhatAKnownInputCanNeverGiveIsRefused(t *testing.T) {
	schema, err := expr.Decode([]byte(`{"type": "object", "additionalProperties": false, "properties": {
		"total": {"type": "number"}, "name": {"type": ["string", "null"]}, "flag": {"type": "boolean"}, "any": {},
		"lines": {"type": "array"}, "ship": {"$ref": "#/$defs/ship"}, "loop": {"$ref": "#"}, "open": {"type": "object", "properties": {"n": {"type": "integer"}}}},
		"$defs": {"ship": {"type": "object", "additionalProperties": false, "properties": {"days": {"type": "integer"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	input := expr.SchemaType(schema, schema)
	for src, want := range map[string]string{
		"input.total > 1000":              "",
		"input.totl > 1000":               "`input` never has a field `totl`, only any, flag, lines, loop, name, open, ship, total",
		"input.totl ?? 0":                 "",
		"input?.totl":                     "",
		"input.total > 'x'":               "operator > cannot take",
		"input.total.x":                   "which has no",
		"input.name + 'x'":                "",
		"input.name + 1":                  "operator + cannot take",
		"input.ship.days + 1":             "",
		"input.ship.dayz":                 "`input.ship` never has a field `dayz`, only days",
		"input.loop.loop.ship.dayz":       "never has a field `dayz`",
		"input.open.other + input.open.n": "",
		"input.open.n + 'x'":              "operator + cannot take",
		"input.any.thing":                 "",
		"input.flag ? 1 : 2":              "",
		"input.total ? 1 : 2":             "the condition must be a boolean",
		"input.lines.x":                   "which has no",
		"map(input.lines, .x)":            "",
		"map(input.total, .x)":            "argument 1 of map must be a list",
		"input + 1":                       "operator + cannot take",
		"input[0]":                        "which has no",
		"context.totl":                    "",
		"1 + 1":                           "",
	} {
		p, err := expr.Compile(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		err = p.Check(expr.Known{Input: input})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", src, err, want)
		}
		if err := p.Check(expr.Known{}); err != nil {
			t.Errorf("%s over anything: %v", src, err)
		}
	}
	condition, err := expr.CompileCondition("input.total")
	if err != nil {
		t.Fatal(err)
	}
	if err := condition.Check(expr.Known{Input: input}); err == nil {
		t.Error("a number is accepted as a condition")
	}
	fields := expr.ObjectType(map[string]*expr.Type{"order": input, "list": expr.ListType(), "other": nil})
	for src, ok := range map[string]bool{"input.order.total + 1": true, "input.ordr": false, "input.order.totl": false, "input.list[0]": true, "input.list.a": false, "input.other.x": true} {
		p, err := expr.Compile(src)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(expr.Known{Input: fields}); (err == nil) != ok {
			t.Errorf("%s: %v", src, err)
		}
	}
}
