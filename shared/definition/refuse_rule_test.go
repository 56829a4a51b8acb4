package definition_test

import "testing"

func TestBadRulesAreRefused(t *testing.T) {
	rule := func(fields string) string {
		return parts("c: {condition: input > 1}, s: {step: x}, a: {rule: {" + fields + "}}")
	}
	checkRefused(t, []refusal{
		{parts("a: {rule: x}"), "components.a.rule", "must be an object"},
		{rule("when: 'true'"), "components.a.rule", "has no then"},
		{rule("then: {step: x}"), "components.a.rule", "has no condition (give it when, all_of or any_of)"},
		{rule("when: 'true', then: {}"), "components.a.rule.then", "must have a step or an expr"},
		{rule("when: 'true', then: {step: x, expr: '1'}"), "components.a.rule.then", "must have a step or an expr"},
		{rule("when: 'true', then: {expr: '1', queue: q}"), "components.a.rule.then.queue", "only a step has queue"},
		{rule("when: 'true', then: {step: x, ques: q}"), "components.a.rule.then.ques", "did you mean queue?"},
		{rule("when: 'true', then: {step: 'x y'}"), "components.a.rule.then.step", "is not allowed"},
		{rule("whem: 'true', then: {step: x}"), "components.a.rule.whem", "did you mean when?"},
		{rule("when: '1', then: {step: x}"), "components.a.rule.when", "this must be a boolean"},
		{rule("all_of: [], then: {step: x}"), "components.a.rule.all_of", "must be a list of conditions"},
		{rule("all_of: [c], any_of: [c], then: {step: x}"), "components.a.rule", "has all_of and any_of"},
		{rule("all_of: [c, c], then: {step: x}"), "components.a.rule.all_of[1]", `condition "c" is given twice`},
		{rule("all_of: [d], then: {step: x}"), "components.a.rule.all_of[0]", `unknown component "d"`},
		{rule("all_of: [s], then: {step: x}"), "components.a.rule.all_of[0]", `"s" is no condition`},
		{parts("c: {condition: input > 1}, s: {step: x}, a: {rule: {all_of: [c], then: {step: x}}, after: s}"),
			"components.a.rule.all_of[0]", `"c" is not fed by what feeds this rule`},
		{parts("s: {step: x}, t: {step: x}, c: {condition: input > 1, after: {any: [s, t]}}, a: {rule: {all_of: [c], then: {step: x}}, after: {any: [s, t]}}"),
			"components.a.rule.all_of[0]", "cannot be fed by any"},
		{parts("s: {step: x}, t: {step: x}, u: {expr: input, after: {any: [s, t]}}, c: {condition: input > 1, after: u}, a: {rule: {all_of: [c], then: {step: x}}, after: u}"),
			"components.a", "named conditions cannot tell"},
		{parts("a: {rule: {when: 'true', then: {step: x}}, when: 'true'}"), "components.a.when", "a rule has its condition in rule.when"},
		{parts("a: {rule: input, then: {step: x}}"), "components.a.then", "write it in a rule, {when: …, then: …}, or in a reactor"},
		{parts("r: {rule: {when: 'true', then: {step: x}}}") + "policies: [{match: {name: r/them}, on_failure: skip}]", "policies[0].match.name", "nearest: r/then"},
		{parts("a: {rule: {when: 'error.type == 1', then: {step: x}}}"), "components.a.rule.when", "only a component with catch sees error"},
	})
}

func TestBadCatchesAreRefused(t *testing.T) {
	checkRefused(t, []refusal{
		{parts("a: {step: x, catch: b}"), "components.a.catch", `unknown component "b"`},
		{parts("a: {step: x}, b: {step: x, catch: [a]}"), "components.b.catch", "must be the name of a component"},
		{parts("a: {step: x}, b: {step: x, catch: a, after: a}"), "components.b", "has after and catch"},
		{parts("a: {step: x}, b: {expr: input.errors, catch: a}"), "components.b.expr", "errors"},
		{parts("a: {step: x}, b: {step: x, catch: a}, c: {step: x, after: [a, b]}"), "components.c", `can never run: it needs "a"`},
	})
}

func TestBadRacesAreRefused(t *testing.T) {
	first := func(first string) string {
		return parts("a: {step: x}, b: {step: x}, c: {step: x, after: {first: " + first + "}}")
	}
	checkRefused(t, []refusal{
		{first("{}"), "components.c.after.first", "has no of"},
		{first("{of: a}"), "components.c.after.first.of", "must be a list of components"},
		{first("[a, b]"), "components.c.after.first", "or write {first: {of: [a, b], count: 1}}"},
		{parts("a: {step: x}, b: {step: x}, c: {step: x, first: {of: [a, b]}}"), "components.c.first", "write after: {first: {of: [a, b]}}"},
		{first("{of: [a, d]}"), "components.c.after.first.of[1]", `unknown component "d"`},
		{first("{of: [a, a]}"), "components.c.after.first.of[1]", `parent "a" is given twice`},
		{first("{of: [a, 'b?']}"), "components.c.after.first.of[1]", "only the arm of a join can be optional"},
		{first("{of: [a, b], count: 3}"), "components.c.after.first.count", "3 of 2 can never arrive"},
		{first("{of: [a, b], count: 0}"), "components.c.after.first.count", "must be an integer of at least 1"},
		{first("{of: [a, b], counts: 1}"), "components.c.after.first.counts", "did you mean count?"},
		{parts("a: {step: x}, b: {step: x, after: {first: {of: [a]}, x: a}}"), "components.b.after", "first cannot stand with other arms"},
	})
}

// A parent may be called first, as an arm may.
func TestAnArmMayBeCalledFirst(t *testing.T) {
	graph(t, parts("a: {step: x}, b: {step: x, in: {first: a}}"))
}
