package definition_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/policy"
)

func rules(t *testing.T, src string) []policy.Rule {
	t.Helper()
	out, err := policy.ParseRules(json.RawMessage(src), "policies")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const policed = `name: t
components:
  own:   {step: orders.own, policy: {max_retries: 1}}
  plain: {step: orders.plain}
  more:  {step: orders.more, policy: {timeout: 1s, inherit: true}}
  big:   {step: pay.big}
  e:     {expr: input}
  ok:    {condition: input}
policies:
  - {match: {expr: "kind == 'step' && (input?.n ?? 0) > 100", task: /^pay/}, max_retries: 9}
  - {match: {task: "/^orders\\./"}, max_retries: 2}
  - {match: default, max_retries: 3}
`

func TestTheOrderOfRules(t *testing.T) {
	g := graph(t, policed)
	byWorkflow, byInput := rules(t, `[{"match": {"queue": "orders"}, "max_retries": 4}]`), rules(t, `[{"match": {"name": "plain"}, "max_retries": 5}]`)
	for _, c := range []struct {
		component, input string
		given            definition.Given
		want             int
	}{
		{"own", "null", definition.Given{}, 1},
		{"plain", "null", definition.Given{}, 2},
		{"more", "null", definition.Given{}, 2},
		{"big", "null", definition.Given{}, 3},
		{"big", `{"n": 101}`, definition.Given{}, 9},
		{"own", "null", definition.Given{Workflow: byWorkflow}, 4},
		{"plain", "null", definition.Given{Workflow: byWorkflow, Input: byInput}, 5},
		{"own", "null", definition.Given{Workflow: byWorkflow, Input: byInput}, 4},
		{"plain", "null", definition.Given{Workflow: byWorkflow, Input: byInput, Replace: true}, 5},
		{"own", "null", definition.Given{Workflow: byWorkflow, Input: byInput, Replace: true}, 0},
		{"own", "null", definition.Given{Replace: true}, 0},
	} {
		p, err := g.PolicyFor(g.Lookup(c.component), json.RawMessage(c.input), c.given)
		if err != nil || p.MaxRetries != c.want {
			t.Errorf("%s over %s with %+v: %d retries, %v; want %d", c.component, c.input, c.given, p.MaxRetries, err, c.want)
		}
	}
	if p, err := g.PolicyFor(g.Lookup("more"), nil, definition.Given{}); err != nil || p.Timeout != time.Second {
		t.Errorf("inherited: %+v, %v", p, err)
	}
}

func TestTheOptionIsTheDefaultReaction(t *testing.T) {
	skip, halt := policy.Skip, policy.Halt
	plain, skipping := graph(t, policed), graph(t, policed+"options: {on_failure: skip}\n")
	for _, c := range []struct {
		g         *definition.Graph
		component string
		option    *policy.OnFailure
		want      policy.OnFailure
	}{
		{plain, "plain", nil, policy.Halt}, {plain, "plain", &skip, policy.Skip}, {plain, "e", nil, policy.Halt}, {plain, "e", &skip, policy.Skip},
		{skipping, "plain", nil, policy.Skip}, {skipping, "plain", &halt, policy.Halt}, {skipping, "e", nil, policy.Skip},
		{plain, "ok", nil, policy.Skip}, {plain, "ok", &halt, policy.Skip}, // a condition fails its own activation only
	} {
		p, err := c.g.PolicyFor(c.g.Lookup(c.component), nil, definition.Given{OnFailure: c.option})
		if err != nil || p.OnFailure != c.want {
			t.Errorf("%s with %v: %d, %v; want %d", c.component, c.option, p.OnFailure, err, c.want)
		}
	}
}

func TestResolvingAKnownPolicyAllocatesNothing(t *testing.T) {
	g := graph(t, policed)
	c := g.Lookup("plain")
	if n := testing.AllocsPerRun(100, func() {
		if _, err := g.PolicyFor(c, nil, definition.Given{}); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRulesFromOutsideAreChecked(t *testing.T) {
	g := graph(t, policed)
	for src, want := range map[string]string{
		`[{"match": {"name": "plain"}, "max_retries": 1}]`:         "",
		`[{"match": {"name": "e"}, "on_failure": "skip"}]`:         "",
		`[{"match": {"kind": "expr"}, "execution_mode": "sync"}]`:  "",
		`[{"match": {"name": "nobody"}, "max_retries": 1}]`:        `policies[0].match.name: no component is called "nobody"`,
		`[{"match": {"name": "e"}, "max_retries": 1}]`:             "policies[0]: component \"e\" is evaluated by the planner",
		`[{"match": {"name": "plain"}, "execution_mode": "sync"}]`: "policies[0].execution_mode: sync is not possible",
	} {
		err := g.CheckRules(rules(t, src))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", src, err, want)
		}
		var all definition.Errors
		if err != nil && !errors.As(err, &all) {
			t.Errorf("%s: a %T", src, err)
		}
	}
}

func TestTheQueuesThatAttemptsMayGoTo(t *testing.T) {
	g := graph(t, `name: t
components:
  a: {step: orders.a}
  b: {step: pay.b, policy: {queue: own}}
  c: {step: pay.c}
  d: {step: x, queue: given}
  e: {expr: input}
policies:
  - {match: {expr: "input.n > 1", name: c}, queue: sometimes}
  - {match: {name: c}, max_retries: 1}
  - {match: {kind: [step, expr]}, inherit: true, max_retries: 1}
  - {match: {task: x}, queue: fast}
  - {match: {task: nothing}, queue: unused}
`)
	if got := strings.Join(g.Queues(), " "); got != "fast orders own pay sometimes" {
		t.Errorf("got %s", got)
	}
}

// What is typed into a terminal has three attempts where nobody says otherwise, whatever else is said of it; other tasks have one.
func TestTerminalsHaveThreeAttempts(t *testing.T) {
	g := graph(t, `{"name":"d","components":{
		"a":{"step":"terminal.submit","params":{"target":"x","text":"y"}},
		"b":{"step":"terminal.submit","params":{"target":"x","text":"y"},"policy":{"timeout":"1h"}},
		"c":{"step":"terminal.submit","params":{"target":"x","text":"y"},"policy":{"max_retries":0}},
		"d":{"step":"http.request","params":{"url":"x"}}}}`)
	for name, want := range map[string]int{"a": 2, "b": 2, "c": 0, "d": 0} {
		for _, given := range []definition.Given{{}, {Replace: true}} {
			if given.Replace && name == "c" {
				continue // what the definition says of it does not count then
			}
			if p, err := g.PolicyFor(g.Lookup(name), nil, given); err != nil || p.MaxRetries != want {
				t.Errorf("%s with %+v: %d retries, want %d; %v", name, given, p.MaxRetries, want, err)
			}
		}
	}
}
