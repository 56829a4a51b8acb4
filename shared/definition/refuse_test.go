package definition_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
)

func TestUnknownFieldsAndKindsAreRefused(t *testing.T) {
	checkRefused(t, []refusal{
		{"name: t\ncomponents: {}\nfoo: 1", "foo", "unknown field (known are components,"},
		{parts("a: {step: x, foo: 1}"), "components.a.foo", "unknown field (known are accumulate,"},
		{parts("a: {}"), "components.a", "has no kind (give it step, expr, condition, sleep"},
		{parts("a: {after: b}, b: {step: x}"), "components.a", "has no kind"},
		{parts("a: {stpe: x}"), "components.a", "has no kind"},
		{parts("a: {stpe: x}"), "components.a.stpe", "unknown field (did you mean step? known are accumulate,"},
		{parts("a: {step: x}") + "optoins: {}", "optoins", "did you mean options?"},
		{parts("a: {step: x}") + "options: {clos: never}", "options.clos", "did you mean close?"},
		{parts("a: {step: x}") + "policies: [{match: {knd: step}}]", "policies[0].match.knd", "did you mean kind?"},
		{parts("a: {step: x}") + "policies: [{match: {kind: stp}}]", "policies[0].match.kind", "did you mean step?"},
		{parts("a: {step: x, policy: {max_retry: 1}}"), "components.a.policy.max_retry", "did you mean max_retries?"},
		{parts("a: {step: x, expr: input}"), "components.a", "is both step and expr"},
		{parts("a: {sleep: 1s, sleep_ms: 1}"), "components.a", "is both sleep and sleep_ms"},
		{parts("a: x"), "components.a", "must be an object"},
		{"name: t\ncomponents: []", "components", "must be an object"},
		{"name: t", "components", "missing"},
		{"components: {}", "name", "missing"},
		{"name: t\ncomponents: {}\ninput: {schemas: {}}", "input.schemas", "unknown field (did you mean schema? known is schema)"},
		{"name: t\ncomponents: {}\ninput: {}", "input.schema", "missing"},
		{"name: t\ncomponents: {}\ninput: 1", "input", "must be an object"},
	})
}

// Every kind and field of the design that this version does not have is refused as such, never ignored.
func TestWhatIsNotSupportedIsSaidToBe(t *testing.T) {
	var cases []refusal
	for _, kind := range []string{"loop", "fsm", "aggregate", "saga",
		"process_manager", "workflow", "emit", "respond"} {
		cases = append(cases, refusal{parts("a: {" + kind + ": x}"), "components.a." + kind, "not supported by this version"})
	}
	for _, field := range []string{"compensate", "allow"} {
		cases = append(cases, refusal{parts("a: {step: x, " + field + ": b}"), "components.a." + field, "not supported by this version"})
	}
	checkRefused(t, append(cases,
		refusal{parts(`a: {step: {"$": "'a' + input"}}`), "components.a.step", "not supported by this version"},
		refusal{parts("a: {step: x, policy: {on_failure: compensate}}"), "components.a.policy.on_failure", "not supported by this version"},
		refusal{"name: t\ncomponents: {}\noptions: {on_failure: compensate}", "options.on_failure", "not supported by this version"},
	))
}

func TestBadNamesAndTextsAreRefused(t *testing.T) {
	checkRefused(t, []refusal{
		{"name: 'a b'\ncomponents: {}", "name", "is not allowed"},
		{"name: 3\ncomponents: {}", "name", "is not allowed"},
		{"name: t\nversion: 3\ncomponents: {}", "version", `must be a text (quote it: "3")`},
		{"name: t\nversion: ''\ncomponents: {}", "version", "must have 1 to 64 bytes"},
		{parts("a.b: {step: x}"), "components.a.b", "is no name"},
		{parts("'a?': {step: x}"), "components.a?", "is no name"},
		{parts(strings.Repeat("a", 129) + ": {step: x}"), "components." + strings.Repeat("a", 129), "is no name"},
		{parts("a: {step: ''}"), "components.a.step", "is not allowed"},
		{parts("a: {step: 'x y'}"), "components.a.step", "is not allowed"},
		{parts("a: {step: " + strings.Repeat("x", 256) + "}"), "components.a.step", "is not allowed"},
		{parts("a: {step: 'a/b.c'}"), "components.a.step", "no name of a queue"},
		{parts("a: {step: x, queue: 'a b'}"), "components.a.queue", "queue name"},
	})
}

func TestBadWiringIsRefused(t *testing.T) {
	checkRefused(t, []refusal{
		{parts("a: {step: x, after: valdate}, validate: {step: x}"), "components.a.after", `unknown component "valdate" (nearest: validate)`},
		{parts("a: {step: x, after: input}"), "components.a.after", "fed by the input"},
		{parts("a: {step: x}, b: {step: x, after: [a, q]}"), "components.b.after[1]", `unknown component "q"`},
		{parts("a: {step: x}, b: {step: x, in: {v: a, w: 'q?'}}"), "components.b.in.w", `unknown component "q"`},
		{parts("a: {step: x}, b: {step: x, after: {any: [a, q]}}"), "components.b.after.any[1]", `unknown component "q"`},
		{parts("b: {step: x, else: q}"), "components.b.else", `unknown component "q"`},
		{parts("a: {step: x}, b: {step: x, after: [a, a]}"), "components.b.after[1]", `parent "a" is given twice`},
		{parts("a: {step: x}, b: {step: x, in: {v: a, w: a?}}"), "components.b.in.w", `parent "a" is given twice`},
		{parts("a: {step: x}, b: {step: x, after: {any: [a, a]}}"), "components.b.after.any[1]", "given twice"},
		{parts("a: {step: x}, b: {step: x, after: a?}"), "components.b.after", "only the arm of a join can be optional"},
		{parts("a: {step: x}, b: {step: x, after: {any: [a?]}}"), "components.b.after.any[0]", "only the arm of a join"},
		{parts("a: {step: x}, b: {step: x, after: a, in: a}"), "components.b", "has after and in"},
		{parts("a: {step: x, when: 'true'}, b: {step: x, after: a, else: a}"), "components.b", "has after and else"},
		{parts("a: {step: x}, b: {step: x, after: []}"), "components.b.after", "names no component"},
		{parts("a: {step: x}, b: {step: x, in: {}}"), "components.b.in", "names no component"},
		{parts("a: {step: x}, b: {step: x, after: {any: []}}"), "components.b.after.any", "names no component"},
		{parts("a: {step: x}, b: {step: x, after: {any: [a], c: a}}"), "components.b.after", "any cannot stand with other arms"},
		{parts("a: {step: x}, b: {step: x, after: 1}"), "components.b.after", "must name components"},
		{parts("a: {step: x}, b: {step: x, after: [1]}"), "components.b.after[0]", "must be the name of a component"},
		{parts("a: {step: x}, b: {step: x, in: {v: 1}}"), "components.b.in.v", "must be the name of a component"},
		{parts("a: {step: x}, b: {step: x, else: [a]}"), "components.b.else", "must be the name of a component"},
		{parts("a: {step: x}, b: {step: x, else: a}"), "components.b.else", "neither condition nor when"},
		{parts("a: {step: x}") + "outputs: {r: b}", "outputs.r", `unknown component "b"`},
		{parts("a: {step: x}") + "outputs: {'r s': a}", "outputs.r s", "is no name"},
		{parts("a: {step: x}") + "outputs: {r: 1}", "outputs.r", "must be the name of a component"},
	})
}

func TestCyclesAreRefused(t *testing.T) {
	checkRefused(t, []refusal{
		{parts("a: {step: x, after: a}"), "components.a", "is part of a cycle: a → a"},
		{parts("a: {step: x, after: b}, b: {step: x, after: a}"), "components.a", "cycle: a → b → a"},
		{parts("r: {step: x}, a: {step: x, after: [r, c]}, b: {step: x, after: a}, c: {step: x, after: b}, d: {step: x, after: c}"),
			"components.a", "cycle: a → b → c → a"},
		{parts("a: {condition: 'true', after: b}, b: {step: x, else: a}"), "components.a", "cycle: a → b → a"},
		{parts("a: {step: x, after: b}, b: {step: x, after: a}, c: {step: x, after: d}, d: {step: x, after: c}"), "components.c", "cycle: c → d → c"},
	})
	_, err := definition.Parse([]byte(parts("a: {step: x, after: b}, b: {step: x, after: a}, z: {step: x, after: b}")))
	var all definition.Errors
	if !errors.As(err, &all) || len(all) != 1 {
		t.Errorf("a cycle and what is behind it gave %v", err)
	}
}

func TestAJoinArmThatCanYieldMoreThanOnceIsRefused(t *testing.T) {
	const twice = "b: {step: x}, c: {step: x}, n: {step: x, after: {any: [b, c]}}, "
	checkRefused(t, []refusal{
		{parts(twice + "j: {step: x, after: [n, b]}"), "components.j.after[0]", `"n" can yield more than once`},
		{parts(twice + "j: {step: x, in: {v: b, w: n?}}"), "components.j.in.w", `"n" can yield more than once`},
		{parts(twice + "d: {step: x, after: n}, j: {step: x, after: [d]}"), "components.j.after[0]", `"d" can yield more than once`},
		{parts(twice + "d: {condition: input, after: n}, e: {step: x, else: d}, j: {step: x, after: [e]}"), "components.j.after[0]", `"e" can yield`},
		// the else of something that runs twice does not exclude it: each activation decides for itself
		{parts(twice + "d: {condition: input, after: n}, e: {step: x, else: d}, o: {step: x, after: {any: [d, e]}}, j: {step: x, after: [o]}"),
			"components.j.after[0]", `"o" can yield`},
		// different conditions do not exclude each other, however they are written
		{parts("b: {condition: 'input > 1'}, c: {condition: 'input <= 1'}, n: {step: x, after: {any: [b, c]}}, j: {step: x, after: [n]}"),
			"components.j.after[0]", `"n" can yield`},
	})
}

func TestABranchAndItsElseCountAsOne(t *testing.T) {
	for _, src := range []string{
		"b: {condition: input}, c: {step: x, else: b}, n: {step: x, after: {any: [b, c]}}, j: {step: x, after: [n]}",
		"b: {step: x, when: input}, c: {step: x, else: b}, n: {step: x, after: {any: [c, b]}}, j: {step: x, after: [n]}",
		// further down the branches, through joins and other branches
		"r: {step: x}, b: {condition: input, after: r}, b2: {step: x, after: b}, b3: {step: x, after: [b2, r]}, c: {step: x, else: b}, " +
			"c2: {expr: input, after: c}, n: {step: x, after: {any: [b3, c2]}}, j: {step: x, after: [n, r]}",
		// else-if chains
		"b: {condition: input}, c: {step: x, else: b, when: input}, d: {step: x, else: c}, n: {step: x, after: {any: [b, c, d]}}, j: {step: x, after: [n]}",
		// an any of single arms is single again
		"b: {condition: input}, c: {step: x, else: b}, n: {step: x, after: {any: [b, c]}}, m: {condition: input, after: n}, k: {step: x, else: m}, " +
			"o: {step: x, after: {any: [k, m]}}, j: {step: x, after: [o, n]}",
		// what both arms of an any need, its fact needs
		"g: {condition: input}, h: {step: x, else: g}, b: {condition: input, after: g}, c: {step: x, else: b}, n: {step: x, after: {any: [b, c]}}, " +
			"o: {step: x, after: {any: [n, h]}}, j: {step: x, after: [o]}",
	} {
		g := graph(t, parts(src))
		for _, c := range g.Components {
			if !c.Single {
				t.Errorf("%s: %s is not single", src, c.Name)
			}
		}
	}
}

func TestAComponentThatNothingCanReachIsRefused(t *testing.T) {
	checkRefused(t, []refusal{
		{parts("b: {condition: input}, c: {step: x, else: b}, j: {step: x, after: [b, c]}"), "components.j", `can never run: it needs "b" to be taken and not`},
		{parts("b: {step: x, when: input}, b2: {step: x, after: b}, c: {step: x, else: b}, j: {step: x, in: {p: b2, q: c}}, k: {step: x, after: j}"),
			"components.j", "can never run"},
	})
	_, err := definition.Parse([]byte(parts("b: {condition: input}, c: {step: x, else: b}, j: {step: x, after: [b, c]}, k: {step: x, after: j}")))
	var all definition.Errors
	if !errors.As(err, &all) || len(all) != 1 {
		t.Errorf("an unreachable component and what is behind it gave %v", err)
	}
	graph(t, parts("b: {condition: input}, c: {step: x, else: b}, j: {step: x, in: {p: b?, q: c?}}"))
}

func TestBadExpressionsAreRefused(t *testing.T) {
	checkRefused(t, []refusal{
		{parts("a: {expr: 'input +'}"), "components.a.expr", `expression "input +" at 1:`},
		{parts("a: {expr: 'inptu'}"), "components.a.expr", "unknown name `inptu`"},
		{parts("a: {expr: 3}"), "components.a.expr", "must be an expression"},
		{parts("a: {expr: ' '}"), "components.a.expr", "must be an expression"},
		{parts("a: {condition: 'input.n + 1'}"), "components.a.condition", "must be a boolean"},
		{parts("a: {condition: true}"), "components.a.condition", "must be an expression (write it as a text; quote true"},
		{parts("a: {step: x, when: '1'}"), "components.a.when", "must be a boolean"},
		{parts("a: {step: x, input: '{'}"), "components.a.input", "expression"},
		{parts(`a: {step: x, params: {u: {"$": "1 +"}}}`), "components.a.params.u.$", "expression"},
		{parts(`a: {step: x, params: {u: [1, {v: {"$": "foo"}}]}}`), "components.a.params.u[1].v.$", "unknown name"},
		{parts(`a: {step: x, params: {u: {"$": "1", v: 2}}}`), "components.a.params.u", `an object with "$" can have no other field`},
		{parts(`a: {step: x, params: {"$": "input"}}`), "components.a.params", "cannot be one expression"},
		{parts("a: {step: x, params: 1}"), "components.a.params", "must be an object"},
		{parts(`a: {sleep: {"$": "foo"}}`), "components.a.sleep.$", "unknown name"},
		{parts("a: {sleep: 5}"), "components.a.sleep", "must be a duration with its unit, such as 30s"},
		{parts("a: {sleep: soon}"), "components.a.sleep", "is no duration"},
		{parts("a: {sleep: -1s}"), "components.a.sleep", "must be from 0"},
		{parts("a: {sleep_ms: 1s}"), "components.a.sleep_ms", "must be an integer of milliseconds"},
		{parts("a: {step: x, context: 1}"), "components.a.context", "must be an object"},
		{parts("a: {expr: input, params: {}}"), "components.a.params", "only a step has params"},
		{parts("a: {step: x, timeout: 3s}"), "components.a.timeout", "only a signal has timeout here (it is a field of its policy: write policy: {timeout: …})"},
		{parts("a: {expr: input, timeout: 3s}"), "components.a.timeout", "only a signal has timeout (remove it)"},
		{parts("a: {step: x, max_retries: 3}"), "components.a.max_retries", "a component has no such field (it is a field of its policy: write policy: {max_retries: …})"},
		{parts("a: {step: x, base_delay_ms: 3}"), "components.a.base_delay_ms", "write policy: {base_delay_ms: …}"},
		{parts("a: {sleep: 1s, input: input}"), "components.a.input", "only a step has input"},
		{parts("a: {condition: input, queue: q}"), "components.a.queue", "only a step has queue"},
	})
}

func TestAFieldThatTheInputNeverHasIsRefused(t *testing.T) {
	with := func(components string) string {
		return parts(components) + "input: {schema: {type: object, additionalProperties: false, properties: {n: {type: number}, s: {type: string}}}}\n"
	}
	checkRefused(t, []refusal{
		{with("a: {expr: input.m}"), "components.a.expr", "never has a field `m`, only n, s"},
		{with("a: {condition: input.n}"), "components.a.condition", "must be a boolean"},
		{with("a: {step: x, when: input.m > 1}"), "components.a.when", "never has a field `m`"},
		{with("a: {step: x, input: input.m}"), "components.a.input", "never has a field `m`"},
		{with(`a: {step: x, params: {p: [1, {q: {"$": input.m}}]}}`), "components.a.params.p[1].q.$", "never has a field `m`"},
		{with(`a: {sleep: {"$": input.m}}`), "components.a.sleep.$", "never has a field `m`"},
		{with(`a: {step: x}`) + `options: {labels: {l: {"$": input.m}}}`, "options.labels.l.$", "never has a field `m`"},
		// conditions, sleeps and else pass the value on
		{with("a: {condition: input.n > 1}, b: {sleep: 1s, after: a}, c: {expr: input.m, after: b}, d: {expr: input.s + 1, else: a}"),
			"components.c.expr", "never has a field `m`"},
		{with("a: {condition: input.n > 1}, d: {expr: input.s + 1, else: a}"), "components.d.expr", "operator + cannot take"},
		{with("a: {condition: input.n > 1}, b: {sleep: 1s}, d: {expr: input.m, after: {any: [a, b]}}"), "components.d.expr", "never has a field `m`"},
		{with("a: {condition: input.n > 1}, d: {expr: input.v.m, in: {v: a}}"), "components.d.expr", "never has a field `m`"},
		// the arms of a join are known without a schema
		{parts("a: {step: x}, b: {step: x}, c: {expr: input.oder, in: {order: a, list: b}}"), "components.c.expr", "never has a field `oder`, only list, order"},
		{parts("a: {step: x}, b: {step: x}, c: {expr: input.a, after: [a, b]}"), "components.c.expr", "has no"},
	})
	graph(t, with("a: {step: x}, b: {expr: input.m, after: a}, c: {expr: input?.m}, d: {expr: input.m ?? 1}, e: {expr: input.o.m, in: {o: a?}}"))
}

func TestBadPoliciesAreRefused(t *testing.T) {
	checkRefused(t, []refusal{
		{parts("a: {step: x}") + "policies: [{match: default, retries: 1}]", "policies[0].retries", "unknown field"},
		{parts("a: {step: x}") + "policies: [{match: {name: b}, max_retries: 1}]", "policies[0].match.name", `no component is called "b"`},
		{parts("a: {step: x}") + "policies: [{match: default, execution_mode: sync}]", "policies[0].execution_mode", "sync is not possible for a step"},
		{parts("a: {step: x}") + "policies: [{match: {name: /a/}, execution_mode: sync}]", "policies[0].execution_mode", `sync is not possible for the step "a"`},
		{parts("a: {expr: input}") + "policies: [{match: {name: a}, max_retries: 1}]", "policies[0]", "honours on_failure and a fallback to a value or an expression only"},
		{parts("a: {expr: input, policy: {max_retries: 1}}"), "components.a.policy", "honours on_failure and a fallback to a value or an expression only"},
		{parts("a: {step: x, policy: {execution_mode: sync}}"), "components.a.policy.execution_mode", "sync is not possible"},
		{parts("a: {step: x, policy: {match: default, max_retries: 1}}"), "components.a.policy.match", "matches that component"},
		{parts("a: {step: x, policy: slow}"), "components.a.policy.preset", "unknown preset"},
		{parts("a: {step: x, policy: [{max_retries: 1}]}"), "components.a.policy", "a rule must be an object"},
		{parts("a: {step: x, policy: {}}"), "components.a.policy", "gives no field"},
	})
}

func TestBadOptionsAreRefused(t *testing.T) {
	with := func(options string) string { return "name: t\ncomponents: {}\noptions: " + options }
	checkRefused(t, []refusal{
		{with("1"), "options", "must be an object"},
		{with("{foo: 1}"), "options.foo", "unknown option (known are checkpoint,"},
		{with("{max_concurrency: 0}"), "options.max_concurrency", "must be an integer from 1"},
		{with("{max_concurrency: many}"), "options.max_concurrency", "must be an integer from 1"},
		{with("{checkpoint: hourly}"), "options.checkpoint", `unknown strategy "hourly"`},
		{with("{checkpoint: every_n}"), "options.checkpoint", "unknown strategy"},
		{with("{checkpoint: {every_n: 0}}"), "options.checkpoint.every_n", "must be an integer from 1"},
		{with("{close: soon}"), "options.close", "known are never, on_idle"},
		{with("{drain: 5}"), "options.drain", "must be a duration"},
		{with("{drain: 5s, drain_ms: 5}"), "options.drain_ms", "given twice"},
		{with("{labels: [a]}"), "options.labels", "must be an object"},
		{with("{labels: {a: [1]}}"), "options.labels.a", "must be a text, a number"},
		{with("{labels: {a b: x}}"), "options.labels.a b", "is no name of a label"},
		{with(`{labels: {a: {"$": "foo"}}}`), "options.labels.a.$", "unknown name"},
	})
}

func TestBadSourceIsRefused(t *testing.T) {
	checkRefused(t, []refusal{
		{"", "", "empty"},
		{"3", "", "must be an object"},
		{"[]", "", "must be an object"},
		{`{"name": "t", "components": {}`, "", "not JSON: it ends too early"},
		{`{"name": "t", "components": {}} x`, "", "not JSON: "},
		{"name: [", "", "not YAML"},
		{"name: t\ncomponents: {}\n---\nname: u\ncomponents: {}", "", "more than one YAML document"},
		{`{"name": "t", "name": "u", "components": {}}`, "name", "given twice"},
		{`{"name": "t", "components": {"a": {"step": "x"}, "a": {"step": "y"}}}`, "components.a", "given twice"}, // F8
		{"name: t\ncomponents:\n  a: {step: x}\n  a: {step: y}", "components.a", "given twice"},
		{parts("a: {step: x, params: {n: 9223372036854775808}}"), "components.a.params.n", "is not a finite number of 64 bit"},
		{`{"name": "t", "components": {"a": {"step": "x", "params": {"n": 1e999}}}}`, "components.a.params.n", "not finite"},
		{parts("a: {step: x, params: {n: .inf}}"), "components.a.params.n", "not a finite number"},
		{parts("a: {step: x, params: {1: a}}"), "components.a.params.1", "a key must be a text (quote it)"},
		{parts("a: {step: x, params: {null: a}}"), "components.a.params.null", "a key must be a text"},
		{"name: t\ncomponents:\n  a: &a {step: x}\n  b: {<<: *a}", "components.b.<<", "a key must be a text"},
		{parts("a: {step: x, params: {d: !!binary YQ==}}"), "", "tag !!binary is not supported"},
		{parts("a: {step: x, params: {d: *nowhere}}"), "", "unknown anchor"},
		{parts("a: {step: x, params: {d: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}}"), "", "nested deeper than 64"},
		{`{"name": "t", "components": {"a": ` + strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70) + "}}", "", "nested deeper than 64"},
		{"name: t\ncomponents: {}\ninput: {schema: {type: strin}}", "input.schema.type", "is no JSON Schema: value must be one of 'array'"},
		{"name: t\ncomponents: {}\ninput: {schema: {$ref: 'http://x/y'}}", "input.schema", "refers to another document"},
		{"name: t\ncomponents: {}\ninput: {schema: {$ref: 'https://example.com/s.json'}}", "input.schema", "another document"},
		{"name: t\ncomponents: {}\ninput: {schema: 3}", "input.schema", "is no JSON Schema"},
	})
}

func TestALimitIsRefusedOnlyBeyondIt(t *testing.T) {
	fill := func(size int) string {
		const frame = `{"components":{"a":{"params":{"p":""},"step":"x"}},"name":"t"}`
		return strings.Replace(frame, `""`, `"`+strings.Repeat("x", size-len(frame))+`"`, 1)
	}
	if _, err := definition.Parse([]byte(fill(definition.MaxCanonical))); err != nil {
		t.Error(err)
	}
	checkRefused(t, []refusal{
		{fill(definition.MaxCanonical + 1), "", "more than 524288"},
		{fill(definition.MaxSource + 1), "", "the source has 1048577 bytes, more than 1048576"},
	})
	many := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"name": "t", "components": {`)
		for i := range n {
			fmt.Fprintf(&b, `%s"c%d": {"expr": "input"}`, []string{"", ","}[min(i, 1)], i)
		}
		return b.String() + "}}"
	}
	graph(t, many(definition.MaxComponents))
	checkRefused(t, []refusal{{many(definition.MaxComponents + 1), "components", "more than 5000"}})
}

func TestAliasesCannotBlowUp(t *testing.T) {
	src := "name: t\ncomponents: {}\nx0: &x0 [a, a, a, a, a, a, a, a, a, a]\n"
	for i := range 9 {
		src += fmt.Sprintf("x%d: &x%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i), 10), ", "))
	}
	checkRefused(t, []refusal{{src, "", "more than 200000 values"}})
}

func TestHostileYAMLIsRefused(t *testing.T) {
	checkRefused(t, []refusal{
		{strings.Repeat("[", 1<<12), "", "nested deeper than 64"},
		{strings.Repeat("{a: ", 1<<17), "", "not JSON"},
		{"a: " + strings.Repeat("{a: ", 1<<12), "", "nested deeper than 64"},
		{strings.Repeat("- ", 1<<12), "", "nested deeper than 64"},
		{strings.Repeat("? ", 1<<12), "", "nested deeper than 64"},
		{strings.Repeat("!a ", 1<<12), "", "not YAML: "},
		{"a: [" + strings.Repeat("1, ", definition.MaxNodes) + "]", "", "more than 200000 values"},
		{"a: &a [*a]", "", "is within itself"},
	})
}

func TestEverythingWrongIsReportedInOrder(t *testing.T) {
	_, err := definition.Parse([]byte(`{"components": {"b": {"loop": "x"}, "a": {"step": "x", "after": "q", "policy": {"timeout": 1}}}, "zzz": 1}`))
	want := []string{"components.a.after", "components.a.policy.timeout", "components.b.loop", "name", "zzz"}
	var all definition.Errors
	if !errors.As(err, &all) || len(all) != len(want) {
		t.Fatalf("got %v", err)
	}
	for i, e := range all {
		if e.Path != want[i] {
			t.Errorf("error %d is at %s, want %s", i, e.Path, want[i])
		}
	}
}
