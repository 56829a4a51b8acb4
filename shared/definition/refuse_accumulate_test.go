package definition_test

import "testing"

func TestBadStatesAreRefused(t *testing.T) {
	machine := func(reactor string) string {
		return parts("a: {state_machine: state + input, init: 0, reactors: [" + reactor + "]}")
	}
	checkRefused(t, []refusal{
		{parts("a: {accumulate: state + input}"), "components.a.init", "missing (give the state before anything arrives"},
		{parts("a: {accumulate: state +, init: 0}"), "components.a.accumulate", "expression"},
		{parts("a: {accumulate: [], init: 0}"), "components.a.accumulate", "must be an expression"},
		{parts("a: {accumulate: state + input, init: {$: input}}"), "components.a.init", "must be a literal"},
		{parts("a: {accumulate: state + input, init: {at: {$: input}}}"), "components.a.init", "must be a literal"},
		{parts("a: {accumulate: {}, init: 0}"), "components.a.accumulate", "names no task"},
		{parts("a: {accumulate: {step: x, inptu: input}, init: 0}"), "components.a.accumulate.inptu", "unknown field (known are params, queue, step)"},
		{parts("a: {accumulate: {step: x, params: {p: {$: states.b}}}, init: 0}"), "components.a.accumulate.params.p.$", `no component "b" accumulates`},
		{parts("a: {accumulate: state + input, init: 0, reactors: []}"), "components.a.reactors", "only a state_machine has reactors"},
		{parts("a: {accumulate: 'state.n + 1', init: 0}"), "components.a.accumulate", "`state`"},
		{parts("a: {step: x, when: state > 1}"), "components.a.when", "there is no state here"},
		{parts("a: {accumulate: state + input, init: 0, when: state > 1}"), "components.a.when", "there is no state here"},
		{parts("total: {accumulate: state + input, init: 0}, a: {step: x, when: states.totl > 1}"), "components.a.when", `no component "totl" accumulates (nearest: total)`},
		{parts("a: {step: x, when: states.b > 1}, b: {step: x}"), "components.a.when", `no component "b" accumulates (give a component accumulate`},
		{parts("total: {accumulate: 'input > 1', init: false}, a: {step: x, when: states.total > 1}"), "components.a.when", "operator > cannot take a boolean"},
		{parts("total: {accumulate: state + input, init: 0}, a: {expr: states}"), "components.a.expr", "`states` is no value"},
		{parts("total: {accumulate: state + input, init: 0}, a: {reduce: input, with: acc + states.totl}"), "components.a.with", `no component "totl" accumulates (nearest: total)`},
		{parts("a: {reduce: input, with: acc, until: states.b > 1}"), "components.a.until", `no component "b" accumulates`},
		{parts("a: {accumulate: state + input, init: 0}") + "options: {labels: {n: {$: states.a}}}", "options.labels.n.$", "there are no states here"},
		{parts("a: {state_machine: state + input, init: 0, reactors: {}}"), "components.a.reactors", "must be a list of 1 to 32"},
		{machine("{when: state > 1}"), "components.a.reactors[0].then", "missing"},
		{machine("{then: {expr: state}}"), "components.a.reactors[0].when", "missing"},
		{machine("{when: state > 1, then: {}}"), "components.a.reactors[0].then", "must have a step or an expr"},
		{machine("{when: stat > 1, then: {expr: state}}"), "components.a.reactors[0].when", "unknown name `stat`"},
		{machine("{when: states.b > 1, then: {expr: state}}"), "components.a.reactors[0].when", `no component "b" accumulates (those that do: a)`},
		{machine("{when: state > 1, then: {expr: states.b}}"), "components.a.reactors[0].then.expr", `no component "b" accumulates`},
		{machine("{when: state > 1, then: {expr: state}, edge: raising}"), "components.a.reactors[0].edge", "known are level, rising"},
		{machine("{when: state > 1, then: {expr: state}, egde: level}"), "components.a.reactors[0].egde", "did you mean edge?"},
		{machine("{when: state > 1, then: {expr: state}}") + "policies: [{match: {name: a/reactor/1}, on_failure: skip}]", "policies[0].match.name", `no component is called "a/reactor/1" (nearest: a/reactor/0)`},
		{machine("{when: state > 1, then: {expr: state}}") + "outputs: {r: a/reactor/0}", "outputs.r", `it is a part of "a", which no other can name`},
		{parts("b: {step: x, after: a/reactor/0}, a: {state_machine: state + input, init: 0, reactors: [{when: state > 1, then: {expr: state}}]}"),
			"components.b.after", `it is a part of "a", which no other can name`},
		{parts("a: {state_machine: {step: x}, init: 0}"), "components.a.state_machine", "a task folds in accumulate: {step: task}"},
		{parts("a: {step: x, keep: {facts: 3}}"), "components.a.keep", "options: {keep: {facts: 1000}}"},
		{machine("{when: state > 1, then: {expr: state}}") + "policies: [{match: {name: a/reactor/0}, max_retries: 1}]", "policies[0]", "honours on_failure and a fallback to a value or an expression only"},
		{parts("a: {step: x}") + "options: {keep: 5}", "options.keep", "must be an object"},
		{parts("a: {step: x}") + "options: {keep: {}}", "options.keep.facts", "missing"},
		{parts("a: {step: x}") + "options: {keep: {facts: 0}}", "options.keep.facts", "must be an integer from 1"},
		{parts("a: {step: x}") + "options: {keep: {facst: 1}}", "options.keep.facst", "did you mean facts?"},
	})
}
