package definition_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
)

const lines = `name: t
components: {}
input:
  schema:
    type: object
    required: [lines]
    properties:
      currency: {type: string, default: EUR}
      lines: {type: array, items: {$ref: "#/$defs/line"}}
      ship: {type: object, default: {}, properties: {express: {default: false}}}
    allOf: [{properties: {channel: {default: web<1>}}}]
    $defs: {line: {type: object, properties: {n: {type: integer, minimum: 1, default: 1}, sku: {$ref: "#/$defs/sku"}}}, sku: {type: string, default: none}}
`

func TestDefaultsAreAppliedOnAcceptance(t *testing.T) {
	g := graph(t, lines)
	for in, want := range map[string]string{
		`{"lines": []}`: `{"channel":"web<1>","currency":"EUR","lines":[],"ship":{"express":false}}`,
		`{"lines": [{}, {"n": 12345678901234567890}], "currency": "X", "channel": null, "ship": {"express": 1}}`: `{"channel":null,"currency":"X","lines":[{"n":1,"sku":"none"},{"n":12345678901234567890,"sku":"none"}],"ship":{"express":1}}`,
		`{"ship": {"express": 1},  "lines": [], "currency": "X", "channel": 1}`:                                  `{"ship": {"express": 1},  "lines": [], "currency": "X", "channel": 1}`,
	} {
		got, err := g.AcceptInput(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s\ngave %s, %v\nwant %s", in, got, err, want)
		}
	}
	// defaults are copied: filling one input must not show in the next
	for range 2 {
		if got, err := g.AcceptInput(json.RawMessage(`{"lines": []}`)); err != nil || strings.Count(string(got), "express") != 1 {
			t.Errorf("%s, %v", got, err)
		}
	}
}

func TestAnInputThatDoesNotFitIsRefusedWithItsPath(t *testing.T) {
	g := graph(t, lines)
	for in, want := range map[string]string{
		``:                                "input: got null, want object",
		`[]`:                              "input: got array, want object",
		`{}`:                              "input: missing property 'lines'",
		`{"lines": 1}`:                    "input.lines: got number, want array",
		`{"lines": [{"n": 1}, {"n": 0}]}`: "input.lines[1].n: minimum",
		`{"lines": [], "currency": 3}`:    "input.currency: got number, want string",
		`{"lines": [`:                     "input: is no JSON value",
	} {
		_, err := g.AcceptInput(json.RawMessage(in))
		var all definition.Errors
		if !errors.As(err, &all) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", in, err, want)
		}
	}
	_, err := g.AcceptInput(json.RawMessage(`{"lines": [{"n": 0}, {"n": "x"}], "currency": 3}`))
	var all definition.Errors
	if !errors.As(err, &all) || len(all) != 3 {
		t.Errorf("not everything is reported: %v", err)
	}
}

func TestWithoutASchemaAnyInputIsAcceptedUntouched(t *testing.T) {
	g := graph(t, parts("a: {step: x}"))
	for in, want := range map[string]string{``: `null`, ` {"b" : 1} `: ` {"b" : 1} `, `5`: `5`} {
		if got, err := g.AcceptInput(json.RawMessage(in)); err != nil || string(got) != want {
			t.Errorf("%q became %q, %v", in, got, err)
		}
	}
}

func TestASchemaThatRefersToItselfEnds(t *testing.T) {
	g := graph(t, `name: t
components: {}
input: {schema: {$ref: "#/$defs/n", $defs: {n: {type: object, default: {}, properties: {n: {$ref: "#/$defs/n"}}}, loop: {$ref: "#/$defs/loop"}}}}
`)
	if got, err := g.AcceptInput(json.RawMessage(`{}`)); err != nil || len(got) > 1000 {
		t.Errorf("%s, %v", got, err)
	}
}
