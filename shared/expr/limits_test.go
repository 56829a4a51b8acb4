package expr_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

func TestEvaluationIsBounded(t *testing.T) {
	long := `"` + strings.Repeat("x", 1<<20) + `"`
	many := "[" + strings.Repeat("1,", 99_999) + "1]"
	doubling := ""
	for i := range 40 {
		doubling += fmt.Sprintf("let x%d = [x%d, x%d]; ", i+1, i, i)
	}
	check(t, []example{
		{"count(input, count(input, true) > 0)", many, "", "more than 1000000 steps"},
		{"1..1000000000000", "null", "", "bytes of values"},
		{"map(1..100000, map(1..100000, 1))", "null", "", "bytes of values"},
		{"reduce(1..40, #acc + #acc, 'x')", "null", "", "bytes of values"},
		{"repeat(input, 1000)", long, "", "bytes of values"},
		{"uniq(1..100000)", "null", "", "more than 1000000 steps"},
		{"count(1..100000, len(input) > 0)", long, "", "more than 1000000 steps"},
		{"count(1..100000, input matches '(a|b)*c')", long, "", "more than 1000000 steps"},
		{"count(1..100000, input matches '(a?){1000}b')", `"aaaa"`, "", "more than 1000000 steps"},
		{"count(1..100, 'a' matches input)", `"(a?){1000}b"`, "", "more than 1000000 steps"},
		{"'a' matches input", `"(` + strings.Repeat("a?", 495) + `){1000}"`, "", "more than 10000 instructions"},
		{"count(1..50000, [1, 2] == input)", "[1, 3]", "0", ""},
		{"count(1..100000, # in input)", many, "", "more than 1000000 steps"},
		{"reduce(1..1000, [#acc], 1)", "null", "", "nested deeper than 512"},
		{"let x0 = [1]; " + doubling + "x40", "null", "", "too large"},
		{"let x0 = [1]; " + doubling + "x40 == x40", "null", "", "more than 1000000 steps"},
		{"let x0 = [1]; " + doubling + "flatten(x40)", "null", "", "more than"},
		{"let x0 = [1]; " + doubling + "len(toJSON(x40))", "null", "", "more than 1000000 steps"},
		{"split(input, '')", long, "", "bytes of values"},
		{"replace(input, 'x', 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy')", long, "", "bytes of values"},
	})
}

func TestAnExpressionIsBounded(t *testing.T) {
	check(t, []example{
		{strings.Repeat("(", 4000) + "1" + strings.Repeat(")", 4000), "null", "1", ""},
		{strings.Repeat("1+", 2500) + "1", "null", "", "exceeds maximum allowed nodes"},
		{strings.Repeat(" ", expr.MaxSource) + "1", "null", "", "longer than 8192 bytes"},
		{"input matches '(" + strings.Repeat("a?", 495) + "){1000}'", `"a"`, "", "more than 10000 instructions"},
		{"input matches '^[a-z]{1,1000}$'", `"a"`, "true", ""},
		{strings.Repeat("input matches '(a?){1000}' and ", 5) + "true", `"a"`, "", "more than 10000 instructions together"},
	})
}

func TestAnErrorSaysWhereAndWhatItSaw(t *testing.T) {
	_, err := eval("let a = 1;\ninput.total + context.factor", `{"total": "12"}`)
	want := `expression "let a = 1;\ninput.total + context.factor" at 2:13: ` +
		`operator + cannot take a string and an integer (input.total = "12", context.factor = 2)`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = eval("input.user.name", `{"user": {"id": "`+strings.Repeat("ä", 100)+`"}}`)
	if err == nil || !strings.Contains(err.Error(), "at 1:12: `input.user` has no field `name`, only id") || len(err.Error()) > 400 {
		t.Errorf("got %v", err)
	}
	if _, err = eval("1 +", ""); err == nil || !strings.Contains(err.Error(), `expression "1 +" at 1:`) {
		t.Errorf("got %v", err)
	}
	if _, err = eval("inptu.x", ""); err == nil || !strings.Contains(err.Error(), "unknown name `inptu`; known are input, context, workflow, now(), error, state, states") {
		t.Errorf("got %v", err)
	}
}

func TestAnUnknownNameSaysWhichWasMeant(t *testing.T) {
	for src, want := range map[string]string{
		"inptu.x":  "; did you mean `input`?",
		"stat + 1": "; did you mean `state`?",
		"item.n":   "; acc, item and index are those of a reduce: elsewhere, as in the body of a map, what arrives is `input`",
		"total":    "known are input, context, workflow, now(), error, state, states",
	} {
		if _, err := eval(src, ""); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want …%s", src, err, want)
		}
	}
}

func TestWhatCanNeverWorkIsRefused(t *testing.T) {
	for src, want := range map[string]string{
		"1 + 'a'":                  "operator + cannot take an integer and a string",
		"'a' > 1":                  "operator > cannot take",
		"1 == 'a'":                 "operator == cannot take",
		"not 1":                    "the operand of not must be a boolean",
		"len(1)":                   "argument 1 of len must be",
		"len()":                    "len takes 1 arguments, not 0",
		"upper('a', 'b')":          "upper takes 1 arguments, not 2",
		"input matches '('":        "missing closing )",
		"foo(1)":                   "unknown function `foo`",
		"'a'.b":                    "which has no",
		"[1].a":                    "which has no",
		"workflow.id + 1 | foo()":  "unknown function",
		"stat":                     "unknown name `stat`",
		"states":                   "`states` is no value",
		"states[input]":            "`states` is no value",
		"let input = 1; input":     "is a name of the environment",
		"filter([1], #foo)":        "unknown name `#foo`",
		"filter([1], #acc)":        "unknown name `#acc`",
		"filter([1], 1)":           "must be a boolean",
		"b'abc'":                   "not supported",
		"input.x.foo()":            "unknown method",
		"map(input, .Unix())":      "",
		"name == 'a'":              "unknown name `name`",
		"1 in 2":                   "operator in cannot take",
		"{(1): 2}":                 "a key must be a string",
		"reduce(input, #acc + #":   "unexpected token",
		"":                         "unexpected token",
		"sortBy(input, # , 3)":     "must be a string",
		"-'a'":                     "must be a number",
		"'a'[1:2] + 1":             "operator + cannot take",
		"now() - 1":                "operator - cannot take",
		"1 ? 2 : 3":                "the condition must be a boolean",
		"9223372036854775808":      "invalid integer literal",
		"1e999":                    "invalid float literal",
		"input.list[0]['a'].b + 1": "",
	} {
		_, err := expr.Compile(src)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("compile %q: %v; want %q", src, err, want)
		}
	}
}

func TestMatchersSeeTheComponent(t *testing.T) {
	p, err := expr.CompileMatcher(`name startsWith "pay" && kind == "step" && task != "x" && input.n > 1`)
	if err != nil {
		t.Fatal(err)
	}
	holds, err := p.Holds(expr.Env{Name: "pay1", Kind: "step", Task: "y", Input: json.RawMessage(`{"n": 2}`)})
	if err != nil || !holds {
		t.Errorf("got %v, %v", holds, err)
	}
	for _, src := range []string{"context.a", "now() > 1", "workflow.id == 'a'"} {
		if _, err := expr.CompileMatcher(src); err == nil {
			t.Errorf("matcher %q compiles", src)
		}
	}
}

func TestAProgramIsSafeForConcurrentUse(t *testing.T) {
	p, err := expr.Compile("sum(map(input, # * 2))")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if v, err := p.Eval(expr.Env{Input: json.RawMessage("[1,2,3]")}); err != nil || string(v) != "12" {
					t.Errorf("got %s, %v", v, err)
				}
			}
		})
	}
	all.Wait()
}

func TestDecodeReadsJSONAndNothingElse(t *testing.T) {
	for _, good := range []string{` {"a" : [1 , -2.5e3, true,false , null, "x\u00e4\n"] } `, `[]`, `{}`, `0`, `""`, `1E5`} {
		v, err := expr.Decode([]byte(good))
		if err != nil {
			t.Errorf("%s: %v", good, err)
			continue
		}
		b, err := expr.Append(nil, v)
		var a, c any
		if err != nil || json.Unmarshal([]byte(good), &a) != nil || json.Unmarshal(b, &c) != nil || fmt.Sprint(a) != fmt.Sprint(c) {
			t.Errorf("%s became %s, %v", good, b, err)
		}
	}
	for _, bad := range []string{``, ` `, `{`, `[`, `[1,]`, `[1 2]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `01`, `1.`, `.5`, `+1`, `1e`, `--1`, `-`,
		`tru`, `nul`, `"`, `"\x"`, "\"\n\"", `1 2`, `{} {}`, `NaN`, `'a'`, strings.Repeat("[", 20_000)} {
		if v, err := expr.Decode([]byte(bad)); err == nil {
			t.Errorf("%q was read as %v", bad, v)
		}
	}
}

func TestFieldsThatAreNotLookedAtAreSteppedOver(t *testing.T) {
	check(t, []example{
		{"input.a", `{"s": "\\\"}{][,", "n": [1, {"x": "]"}], "o": {"a": 9}, "a": 1, "z": -1.5e3}`, "1", ""},
		{"input.a", `{"a": 1, "a": 2}`, "2", ""},
		{"input.a", `{"a": {"b": [1, 2]}, "c": null}`, `{"b":[1,2]}`, ""},
		{"input.a ?? 3", ` null `, "3", ""},
		{"input?.a", `null`, "null", ""},
		{"input.a", `{"c": [1, 2], "b": {}}`, "", "no field `a`, only b, c; write ?. or ?? if it is optional (input = {\"b\":…,\"c\":…})"},
		{"input.a", `{"c": ]`, "", "cannot be read"},
		{"input.a", `{"c": , "a": 1}`, "", "cannot be read"},
		{"input.a", `{"c": [1, "a": 1}`, "", "cannot be read"},
		{"input.a", `{"a": 1} x`, "", "cannot be read"},
		{"input.a", `{"c": "x`, "", "cannot be read"},
		{"'c' in input && input.a > 0", `{"a": 1, "c": 2}`, "true", ""},
	})
}

func TestMembersAreSplitUndecoded(t *testing.T) {
	got, err := expr.Members([]byte(` { "a" : [ 1 ], "b":{"c": "}"} , "\u0061b": 1e999 } `))
	want := map[string]string{"a": "[ 1 ]", "b": `{"c": "}"}`, "ab": "1e999 "}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%q, %v", got, err)
	}
	for k, v := range want {
		if strings.TrimSpace(string(got[k])) != strings.TrimSpace(v) {
			t.Errorf("%s is %q, want %q", k, got[k], v)
		}
	}
	for _, bad := range []string{"", "1", "[]", "{", `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{"a":[}`, `{} {}`} {
		if got, err := expr.Members([]byte(bad)); err == nil {
			t.Errorf("%q was split into %q", bad, got)
		}
	}
}

func TestFloatsStayFloats(t *testing.T) {
	for in, want := range map[string]string{
		"1.0": "1", "1.5": "1.5", "-0.0": "0", "1e19": "1e+19", "9007199254740992.0": "9007199254740992", "1e16": "1e+16",
		"1e-7": "1e-07", "0.1": "0.1", "1.7976931348623157e308": "1.7976931348623157e+308", "123456789.125": "123456789.125",
	} {
		got, err := eval("input", in)
		if err != nil || got != want {
			t.Errorf("%s became %s, %v; want %s", in, got, err, want)
		}
		again, err := eval("input", got)
		if err != nil || again != got {
			t.Errorf("%s became %s, %v when read again", got, again, err)
		}
	}
}

func FuzzCompileAndEval(f *testing.F) {
	for _, src := range []string{"input.a + 1", "map(input, # * 2) | sum()", "a?.b ?? 1", "let x = 1; x..5", "'a' matches 'b' ? {a: 1} : [1][0:1]",
		"now().Year() - duration('1h').Hours()", "reduce([1], #acc, 0)", "if true {1} else {2}", "-2 ** 2 % 3"} {
		f.Add(src, `{"a": [1, 2.5, "x", null, {"b": true}]}`)
	}
	f.Add("let a = [input, input]; let b = [a, a, a, a, a, a, a, a]; let c = [b, b, b, b, b, b, b, b]; let d = [c, c, c, c, c, c, c, c]; [d, d, d, d, d, d, d, d]", `"0123456789012345678901234567890123456789"`)
	f.Add("reduce(1..10000, #acc + #acc)", `0`)
	f.Add("reduce(1..100, [#acc, #acc], [0])", `0`)
	f.Fuzz(func(t *testing.T, src, input string) {
		var p *expr.Program
		var err error
		wiretest.Bounded(t, len(src), 4<<10, 4<<20, func() { p, err = expr.Compile(src) })
		if err != nil {
			return
		}
		env := expr.Env{Input: json.RawMessage(input)}
		var out json.RawMessage
		// A result grows to its limit in steps, each of which is a copy.
		wiretest.Bounded(t, len(src)+len(input), 4<<10, 8*expr.MaxBytes, func() { out, err = p.Eval(env) })
		again, err2 := p.Eval(env)
		if string(out) != string(again) || (err == nil) != (err2 == nil) {
			t.Fatalf("%q over %q gave %s, %v and then %s, %v", src, input, out, err, again, err2)
		}
		if err == nil && !json.Valid(out) {
			t.Fatalf("%q over %q gave %q", src, input, out)
		}
	})
}
