package definition_test

import "testing"

func TestBadTimesSilencesAndSignalsAreRefused(t *testing.T) {
	checkRefused(t, []refusal{
		{parts("a: {until: tomorrow}"), "components.a.until", `"tomorrow" is no time: write RFC 3339`},
		{parts("a: {until: '2030-01-31T09:00:00'}"), "components.a.until", "is no time"},
		{parts("a: {until: 7}"), "components.a.until", "7 is no time"},
		{parts("a: {until: {$: 'input +'}}"), "components.a.until.$", "unexpected"},
		{parts("a: {idle_for: 10m}"), "components.a.of", "missing (name the component whose silence it waits for: of: NAME)"},
		{parts("a: {idle_for: 10m, of: b}"), "components.a.of", `unknown component "b"`},
		{parts("a: {idle_for: 10m, of: new}, news: {step: x}"), "components.a.of", "nearest: news"},
		{parts("a: {idle_for: 10m, of: a}"), "components.a.of", "waits for its own silence"},
		{parts("a: {idle_for: 10m, of: [b]}, b: {step: x}"), "components.a.of", "must be the name of a component"},
		{parts("a: {idle_for: 10m, of: m.x}, m: {map: input, do: {x: {step: f}}}"), "components.a.of", `it is in the body of "m"`},
		{parts("a: {idle_for: 10, of: b}, b: {step: x}"), "components.a.idle_for", "must be a duration with its unit, such as 30s, 500ms or PT30S"},
		{parts("a: {sleep: 5000d}"), "components.a.sleep", "must be from 0 to 3650d"},
		{parts("a: {idle_for: -1s, of: b}, b: {step: x}"), "components.a.idle_for", "must be from 0"},
		{parts("a: {idle_for: soon, of: b}, b: {step: x}"), "components.a.idle_for", "is no duration"},
		{parts("a: {step: x}, b: {step: x}, c: {idle_for: 1s, of: a, after: {any: [a, b]}}"), "components.c", "can be reached more than once per input"},
		{parts("a: {step: x, of: b}"), "components.a.of", "only an idle_for has of"},
		{parts("a: {signal: 'a b'}"), "components.a.signal", "is not allowed"},
		{parts("a: {signal: go, key: 'input +'}"), "components.a.key", "unexpected"},
		{parts("a: {signal: go, schema: {type: thing}}"), "components.a.schema.type", "is no JSON Schema"},
		{parts("a: {signal: go, schema: text}"), "components.a.schema", "is no JSON Schema: got string"},
		{parts("a: {signal: go, key: {$: input.id}}"), "components.a.key", "write it as a text, without \"$\""},
		{parts("a: {signal: go, ttl: 5m}"), "components.a.ttl", "options: {signal_ttl: 24h}"},
		{parts("a: {signal: go, timeout: -1s}"), "components.a.timeout", "must be from 0"},
		{parts("a: {signal: go, policy: {max_retries: 1}}"), "components.a.policy", "evaluated by the planner"},
		{parts("a: {signal: go, schema: {type: object, properties: {by: {type: string}}, additionalProperties: false}}, b: {expr: input.bye, after: a}"),
			"components.b.expr", "bye"},
		{parts("a: {step: x}") + "options: {signal_ttl: 0s}", "options.signal_ttl", "must be from 1ms"},
	})
}

func TestBadRemindersAreRefused(t *testing.T) {
	with := func(remind string) string { return parts("a: {signal: go, remind: " + remind + "}") }
	checkRefused(t, []refusal{
		{with("1h"), "components.a.remind", "must be an object"},
		{with("{every: 1h, max: 3}"), "components.a.remind", "has no do"},
		{with("{max: 3, do: {step: x}}"), "components.a.remind", "has no every"},
		{with("{every: 1h, do: {step: x}}"), "components.a.remind", "has no max"},
		{with("{every: 1ms, max: 3, do: {step: x}}"), "components.a.remind.every", "must be from 1s"},
		{with("{every: 1h, max: 0, do: {step: x}}"), "components.a.remind.max", "must be an integer from 1 to 1000"},
		{with("{every: 1h, max: 3, do: {}}"), "components.a.remind.do", "must have a step or an expr"},
		{with("{every: 1h, max: 3, do: {step: x}, until: 1}"), "components.a.remind.until", "unknown field"},
		{parts("b: {expr: '{x: 1}'}, a: {signal: go, remind: {every: 1h, max: 3, do: {expr: 'input +'}}}"), "components.a.remind.do.expr", "unexpected"},
		{"name: t\ninput: {schema: {type: object, properties: {n: {type: integer}}, additionalProperties: false}}\ncomponents: {a: {signal: go, remind: {every: 1h, max: 3, do: {expr: input.m}}}}",
			"components.a.remind.do.expr", "m"},
		{parts("a: {step: x, remind: {}}"), "components.a.remind", "only a signal has remind"},
	})
}
