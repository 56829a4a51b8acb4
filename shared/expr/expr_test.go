package expr_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/expr"
)

var journalTime = time.Date(2026, 2, 3, 4, 5, 6, 789000000, time.UTC)

// eval compiles and evaluates src over an input.
func eval(src, input string) (string, error) {
	p, err := expr.Compile(src)
	if err != nil {
		return "", err
	}
	out, err := p.Eval(expr.Env{
		Input: json.RawMessage(input), Context: json.RawMessage(`{"factor": 2}`), WorkflowID: "order-7", Now: journalTime,
	})
	return string(out), err
}

// example is an expression over an input with what it gives, or a part of its error.
type example struct{ src, input, want, err string }

func check(t *testing.T, examples []example) {
	t.Helper()
	for _, e := range examples {
		got, err := eval(e.src, e.input)
		switch {
		case e.err == "" && err != nil:
			t.Errorf("%s over %s: %v; want %s", e.src, e.input, err, e.want)
		case e.err != "" && err == nil:
			t.Errorf("%s over %s = %s; want an error with %q", e.src, e.input, got, e.err)
		case e.err != "" && !strings.Contains(err.Error(), e.err):
			t.Errorf("%s over %s: %v; want an error with %q", e.src, e.input, err, e.err)
		case got != e.want:
			t.Errorf("%s over %s = %s; want %s", e.src, e.input, got, e.want)
		}
		var typed *expr.Error
		if err != nil && !errors.As(err, &typed) {
			t.Errorf("%s over %s: the error is a %T, not an *expr.Error", e.src, e.input, err)
		}
	}
}

func TestIntegersAreExact64Bit(t *testing.T) {
	check(t, []example{
		{"input + 1", "9007199254740993", "9007199254740994", ""},
		{"input", "9223372036854775807", "9223372036854775807", ""},
		{"input", "-9223372036854775808", "-9223372036854775808", ""},
		{"input / 1", "9007199254740993", "9007199254740993", ""},
		{"sum(input)", "[9007199254740993, 1]", "9007199254740994", ""},
		{"max(input)", "[9007199254740993, 9007199254740992.0]", "9007199254740993", ""},
		{"7 / 2", "null", "3.5", ""},
		{"6 / 2", "null", "3", ""},
		{"9007199254740993 / 2", "null", "4503599627370496", ""}, // the nearest float
		{"9007199254740993 / 9007199254740992 == 1", "null", "true", ""},
		{"-7 % 3", "null", "-1", ""},
		{"2 ** 62", "null", "4611686018427387904", ""},
		{"2 ** -1", "null", "0.5", ""},
		{"0x10 + 1_000", "null", "1016", ""},
	})
}

func TestIntegerOverflowIsAnError(t *testing.T) {
	check(t, []example{
		{"input + 1", "9223372036854775807", "", "integer overflow"},
		{"input - 1", "-9223372036854775808", "", "integer overflow"},
		{"-input", "-9223372036854775808", "", "integer overflow"},
		{"input * 2", "4611686018427387904", "", "integer overflow"},
		{"input * -1", "-9223372036854775808", "", "integer overflow"},
		{"input / -1", "-9223372036854775808", "", "integer overflow"},
		{"div(input, -1)", "-9223372036854775808", "", "integer overflow"},
		{"abs(input)", "-9223372036854775808", "", "integer overflow"},
		{"2 ** 63", "null", "", "integer overflow"},
		{"sum(input)", "[9223372036854775807, 1]", "", "integer overflow"},
		{"bitshl(1, 63)", "null", "", "integer overflow"},
		{"int(input)", "1e300", "", "integer overflow"},
		{"int(input)", `"9223372036854775808"`, "", "no integer of 64 bit"},
		{"input % -1", "-9223372036854775808", "0", ""},
		{"3037000499 * 3037000499", "null", "9223372030926249001", ""},
		{"input * 1", "-9223372036854775808", "-9223372036854775808", ""},
	})
}

func TestAnIntegerBeyond64BitIsAnErrorWhereItIsLookedAt(t *testing.T) {
	check(t, []example{
		{"input", "9223372036854775808", "", "outside the exact 64-bit range"},
		{"input.b", `{"a": 1, "b": 18446744073709551616}`, "", "outside the exact 64-bit range"},
		{"input.b", `{"a": 1, "b": [{"c": 18446744073709551616}]}`, "", "outside the exact 64-bit range"},
		{"input.a", `{"a": 1, "b": 18446744073709551616}`, "1", ""}, // b is not looked at
		{"[input.a, len(input)]", `{"a": 1, "b": 18446744073709551616}`, "", "outside the exact 64-bit range"},
		{"context.factor", `{"b": 18446744073709551616}`, "2", ""}, // input is not looked at
		{"1", "no JSON at all", "1", ""},
		{"input", "no JSON at all", "", "cannot be read"},
	})
}

func TestNumbersAreFinite(t *testing.T) {
	check(t, []example{
		{"input", "1e999", "", "not finite"},
		{"input * 10", "1e308", "", "not a finite number"},
		{"input - 1e308", "-1e308", "", "not a finite number"},
		{"1 / 0", "null", "", "division by zero"},
		{"1.5 / input", "0.0", "", "division by zero"},
		{"1 % 0", "null", "", "division by zero"},
		{"div(1, 0)", "null", "", "division by zero"},
		{"0 ** -1", "null", "", "division by zero"},
		{"10.0 ** 400", "null", "", "not a finite number"},
		{"float(input)", `"NaN"`, "", "no finite number"},
		{"float(input)", `"Inf"`, "", "no finite number"},
		{"fromJSON(input)", `"1e999"`, "", "not finite"},
	})
}

func TestIntegersAndFloatsCompareExactly(t *testing.T) {
	check(t, []example{
		{"input[0] == input[1]", "[9007199254740993, 9007199254740992.0]", "false", ""},
		{"input[0] > input[1]", "[9007199254740993, 9007199254740992.0]", "true", ""},
		{"input[0] < input[1]", "[9223372036854775807, 9223372036854775808.0]", "true", ""},
		{"input[0] <= input[1]", "[-9223372036854775808, -9223372036854775808.0]", "true", ""},
		{"1 < 1.5", "null", "true", ""},
		{"-1 > -1.5", "null", "true", ""},
		{"2 >= 2.0", "null", "true", ""},
		{"sort(input)", "[9007199254740993, 9007199254740992.0, 1]", "[1,9007199254740992,9007199254740993]", ""},
	})
}

func TestOneDeepEquality(t *testing.T) {
	check(t, []example{
		{"1 == 1.0", "null", "true", ""},
		{"input == {a: [1, {b: 2.0}]}", `{"a": [1.0, {"b": 2}]}`, "true", ""},
		{"[1, 2] == [1.0, 2.0]", "null", "true", ""},
		{"[1] == [1, 1]", "null", "false", ""},
		{"{a: 1} == {b: 1}", "null", "false", ""},
		{"{a: 1} == {a: 1, b: 1}", "null", "false", ""},
		{"1.0 in [1]", "null", "true", ""},
		{"{a: 1.0} in input", `[{"a": 1}]`, "true", ""},
		{"uniq([1, 1.0, [2], [2.0]])", "null", "[1,[2]]", ""},
		{"input != null", "0", "true", ""},
		{"input == 'a'", "1", "false", ""}, // kinds known only with the data
		{"find(input, # == 1.0)", "[0, 1]", "1", ""},
	})
}

func TestConditionsMustBeBoolean(t *testing.T) {
	check(t, []example{
		{"input ? 1 : 2", "null", "", "must be true or false, not null"},
		{"input && true", "null", "", "must be true or false, not null"},
		{"true and input", "1", "", "must be true or false, not an integer"},
		{"not input", `""`, "", "must be true or false, not a string"},
		{"input || true", "0", "", "must be true or false, not an integer"},
		{"filter([1], input)", "null", "", "must be true or false, not null"},
		{"all([1], input)", "null", "", "must be true or false, not null"},
		{"true || input", "null", "true", ""}, // not evaluated
		{"false && input", "null", "false", ""},
	})
	for src, input := range map[string]string{"input": "null", "input.a": `{"a": null}`, "input.n": `{"n": 1}`} {
		p, err := expr.CompileCondition(src)
		if err != nil {
			t.Fatal(err)
		}
		if holds, err := p.Holds(expr.Env{Input: []byte(input)}); err == nil || !strings.Contains(err.Error(), "must be true or false") {
			t.Errorf("condition %s over %s = %v, %v; want an error", src, input, holds, err)
		}
	}
}

func TestAConditionThatCannotBeBooleanIsRefused(t *testing.T) {
	for _, src := range []string{"1", "'a'", "null", "input.a + 1", "len(input)", "[true]", "now()", "input ? 1 : 2", "if input {1} else {2}"} {
		if _, err := expr.CompileCondition(src); err == nil {
			t.Errorf("condition %s compiles", src)
		}
	}
	for _, src := range []string{"input", "input.a > 1", "true", "input?.ok ?? false", "any(input, # > 1)", "context.debug", "input.a in [1]"} {
		if _, err := expr.CompileCondition(src); err != nil {
			t.Error(err)
		}
	}
}

func TestAnAbsentFieldIsAnError(t *testing.T) {
	check(t, []example{
		{"input.x", `{"a": 1, "b": 2}`, "", "`input` has no field `x`, only a, b"},
		{"input.a.x", `{"a": {}}`, "", "`input.a` has no field `x`, it is empty"},
		{"input.x.y", `{"x": null}`, "", "cannot take field `y` of null"},
		{`input["x"]`, `{}`, "", "has no field `x`"},
		{"input[3]", `[1, 2]`, "", "has no element 3, it has 2 elements"},
		{"input.x", `"text"`, "", "a string has no field `x`"},
		{"input.x", `[1]`, "", "a list has no field `x`"},
		{"context.off", "null", "", "`context` has no field `off`, only factor"},
		{"input == null", "null", "true", ""},
		{"input.x == null", `{"x": null}`, "true", ""},
		{"input.x == null", `{}`, "", "has no field"},
		{"map(input, .x)", `[{"x": 1}, {}]`, "", "has no field `x`"},
	})
}

func TestOptionalChainingAndCoalescing(t *testing.T) {
	check(t, []example{
		{"input?.x", `{}`, "null", ""},
		{"input?.x", `null`, "null", ""},
		{"input?.x?.y", `{}`, "null", ""},
		{"input?.x.y.z", `null`, "null", ""},
		{"input?.x.y", `{}`, "", "cannot take field `y` of null"},
		{"input?.[2]", `[1]`, "null", ""},
		{"input.x ?? 3", `{}`, "3", ""},
		{"input.x ?? 3", `{"x": null}`, "3", ""},
		{"input.x ?? 3", `{"x": false}`, "false", ""},
		{"input.x.y.z ?? 3", `{}`, "3", ""},
		{"input.x.y ?? 3", `{"x": null}`, "3", ""},
		{"input?.x.y ?? 3", `null`, "3", ""},
		{"input[5] ?? 3", `[1]`, "3", ""},
		{"input.list[0:2] ?? []", `{}`, "[]", ""},
		{"input.x ?? input.y ?? 3", `{"y": 2}`, "2", ""},
		{"(input.x + 1) ?? 3", `{}`, "", "has no field"}, // only a chain is optional
		{"input.x ?? 3", `[1]`, "", "a list has no field"},
		{"get(input, 'x')", `{}`, "null", ""},
		{"get(input, 7)", `[1]`, "null", ""},
		{"'x' in input", `{}`, "false", ""},
		{"'x' in input", `{"x": null}`, "true", ""},
	})
}

func TestObjectsAreWalkedInKeyOrder(t *testing.T) {
	const input = `{"b": 1, "c": {"z": 1, "y": 2}, "a": 3}`
	check(t, []example{
		{"keys(input)", input, `["a","b","c"]`, ""},
		{"values(input)", input, `[3,1,{"y":2,"z":1}]`, ""},
		{"toPairs(input) | map(#[0]) | join()", input, `"abc"`, ""},
		{"input", input, `{"a":3,"b":1,"c":{"y":2,"z":1}}`, ""},
		{"toJSON(input)", input, `"{\"a\":3,\"b\":1,\"c\":{\"y\":2,\"z\":1}}"`, ""},
		{"string(input)", input, `"{\"a\":3,\"b\":1,\"c\":{\"y\":2,\"z\":1}}"`, ""},
		{"groupBy(['b', 'a', 'b'], #)", input, `{"a":["a"],"b":["b","b"]}`, ""},
		{"fromPairs(reverse(toPairs(input)))", input, `{"a":3,"b":1,"c":{"y":2,"z":1}}`, ""},
		{"merge(input, {c: 1, d: 2})", input, `{"a":3,"b":1,"c":1,"d":2}`, ""},
	})
	for range 20 { // a map range would show in one of them
		check(t, []example{{"keys(input)", `{"j":1,"i":1,"h":1,"g":1,"f":1,"e":1,"d":1,"c":1}`, `["c","d","e","f","g","h","i","j"]`, ""}})
	}
}

func TestWhatDiffersBetweenRunsOrMachinesIsSwitchedOff(t *testing.T) {
	check(t, []example{
		{"now()", "null", `"2026-02-03T04:05:06.789Z"`, ""}, // journal time, whenever it runs
		{"now() - date('2026-02-03T04:05:00Z')", "null", `"6.789s"`, ""},
		{"now(timezone('Europe/Berlin'))", "null", "", "now takes 0 arguments"},
		{"timezone('Europe/Berlin')", "null", "", "switched off"},
		{"date('2026-01-02', '2006-01-02', 'Europe/Berlin')", "null", "", "date takes 1 to 2 arguments"},
		{"date('02 Jan 06 15:04 CET', '02 Jan 06 15:04 MST')", "null", "", "zone names differ"},
		{"date('Mon, 02 Jan 2006 15:04:05 CET')", "null", "", "is no date"},
		{"date('2026-01-02')", "null", `"2026-01-02T00:00:00Z"`, ""},
		{"date('2026-01-02T03:04:05+02:00')", "null", `"2026-01-02T01:04:05Z"`, ""},
		{"2.0 ** 0.5", "null", "", "exponent must be an integer"},
		{"$env", "null", "", "unknown name"},
		{"random()", "null", "", "unknown function"},
		{"env('HOME')", "null", "", "unknown function"},
	})
}

func TestHelpers(t *testing.T) {
	check(t, []example{
		{"div(7, 2)", "null", "3", ""},
		{"div(-7, 2)", "null", "-3", ""},
		{"div(7.0, 2)", "null", "3", ""},
		{"div(7.5, 2)", "null", "", "integers only"},
		{"merge({a: {x: 1}}, {a: {y: 1}})", "null", `{"a":{"y":1}}`, ""},
		{"merge({a: 1}, {b: 2}, {a: 3})", "null", `{"a":3,"b":2}`, ""},
		{"set({a: 1}, 'b', 2)", "null", `{"a":1,"b":2}`, ""},
		{"set(input, ['a', 'b', 0], 2)", `{"a": {"b": [1]}}`, `{"a":{"b":[2]}}`, ""},
		{"set({}, ['a', 'b'], 2)", "null", `{"a":{"b":2}}`, ""},
		{"set([1, 2], 1, 3)", "null", `[1,3]`, ""},
		{"set([1, 2], 2, 3)", "null", "", "has no element 2"},
		{"let x = {a: 1}; [set(x, 'a', 2), x]", "null", `[{"a":2},{"a":1}]`, ""},
		{"append([1], 2, [3])", "null", `[1,2,[3]]`, ""},
		{"let x = input[0:1]; [append(x, 9), input]", "[1, 2]", `[[1,9],[1,2]]`, ""},
		{"host('https://Shop.Example:8443/x?y')", "null", `"shop.example"`, ""},
		{"host('no url')", "null", "", "without host"},
		{"workflow.id", "null", `"order-7"`, ""},
		{"context.factor * 4", "null", "8", ""},
	})
}

func TestTextCountsCharacters(t *testing.T) {
	check(t, []example{
		{"len(input)", `"häuser"`, "6", ""},
		{"input[1]", `"häuser"`, `"ä"`, ""},
		{"input[-1]", `"häuser"`, `"r"`, ""},
		{"input[1:3]", `"häuser"`, `"äu"`, ""},
		{"indexOf(input, 'u')", `"häuser"`, "2", ""},
		{"upper(trim(input))", `"  ä "`, `"Ä"`, ""},
		{"split('a,b,c', ',', 2)", "null", `["a","b,c"]`, ""},
		{"'abc' matches '^a.c$'", "null", "true", ""},
		{"input matches input", `"a("`, "", "missing closing )"},
		{"'a' + 'b' contains 'ab'", "null", "true", ""},
		{"'a' + 1", "null", "", "operator + cannot take a string and an integer"},
		{"join(['a', 1])", "null", "", "joins strings only"},
		{"toBase64('a') + fromBase64('YQ==')", "null", `"YQ==a"`, ""},
		{"fromBase64('/w==')", "null", "", "no UTF-8"},
		{`"\u0001\"\\/\n"`, "null", `"\u0001\"\\/\n"`, ""},
	})
}

func TestListsAndPredicates(t *testing.T) {
	check(t, []example{
		{"map(input, # * #index)", "[1, 2, 3]", "[0,2,6]", ""},
		{"input | filter(.price > 10) | map(.name)", `[{"name": "a", "price": 11}, {"name": "b", "price": 10}]`, `["a"]`, ""},
		{"reduce(input, #acc + #, 10)", "[1, 2]", "13", ""},
		{"reduce(input, #acc + #)", "[1, 2]", "3", ""},
		{"reduce(input, #acc + #)", "[]", "", "needs an initial value"},
		{"map(input, map(#, # + 1))", "[[1], [2, 3]]", "[[2],[3,4]]", ""},
		{"reduce(input, #acc + sum(#), 0)", "[[1, 2], [3]]", "6", ""},
		{"[all([], false), none([], true), any([], true), one([1], true), count([1, 2], # > 1)]", "null", "[true,true,false,true,1]", ""},
		{"[find([1, 2], # > 5), findIndex([1, 2], # > 1), findLast([1, 2], # > 0), findLastIndex([1], # > 1)]", "null", "[null,1,2,null]", ""},
		{"sortBy(input, .n, 'desc') | map(.k)", `[{"n": 1, "k": "a"}, {"n": 2, "k": "b"}, {"n": 1, "k": "c"}]`, `["b","a","c"]`, ""},
		{"sort([2, 'a'])", "null", "", "cannot order"},
		{"sort([null])", "null", "", "cannot order"},
		{"sort([])", "null", "[]", ""},
		{"flatten([1, [2, [3]]])", "null", "[1,2,3]", ""},
		{"[max([1, [5, 2]]), min(3, 2), mean([1, 2]), median([3, 1, 2])]", "null", "[5,2,1.5,2]", ""},
		{"max([]) ?? 0", "null", "0", ""},
		{"max(['a'])", "null", "", "takes numbers only"},
		{"[first([]), last([1, 2]), take([1, 2], 5), concat([1], [2]), reverse([1, 2])]", "null", "[null,2,[1,2],[1,2],[2,1]]", ""},
		{"1..3", "null", "[1,2,3]", ""},
		{"3..1", "null", "[]", ""},
		{"map(input, #)", `{"a": 1}`, "", "map needs a list, not an object"},
		{"sum(input, .n)", `[{"n": 1}, {"n": 2.5}]`, "3.5", ""},
		{"let xs = input; let n = len(xs); n > 1 ? xs[n - 1] : null", "[4, 5]", "5", ""},
		{"1 < input < 3", "2", "true", ""},
		{"[type(1.0), type(1.5), type(null), type([]), type({})]", "null", `["int","float","null","array","map"]`, ""},
		{"[floor(-1.5), ceil(1.2), round(2.5), int('12'), float(3)]", "null", "[-2,2,3,12,3]", ""},
		{"[bitand(6, 3), bitor(6, 3), bitxor(6, 3), bitnot(0), bitshr(-8, 1)]", "null", "[2,7,5,-1,-4]", ""},
	})
}

func TestTimesAndDurations(t *testing.T) {
	check(t, []example{
		{"now() + duration('1h')", "null", `"2026-02-03T05:05:06.789Z"`, ""},
		{"now() > date(input)", `"2026-01-01"`, "true", ""},
		{"now() > input", `"2026-01-01"`, "", "operator > cannot take a time and a string"},
		{"[now().Year(), now().Month(), now().Weekday(), now().Unix()]", "null", "[2026,2,2,1770091506]", ""},
		{"now().Format('2006-01')", "null", `"2026-02"`, ""},
		{"duration('1h30m').Hours()", "null", "1.5", ""},
		{"duration('PT90S') == duration('1m30s')", "null", "true", ""},
		{"duration('1s') * 3 / 2", "null", `"1.5s"`, ""},
		{"duration('1h') / duration('1m')", "null", "60", ""},
		{"duration('2540400h') + duration('2540400h')", "null", "", "integer overflow"},
		{"date('9999-12-31') + duration('24h')", "null", "", "outside the years"},
		{"date('0001-01-01') - date('9999-01-01')", "null", "", "292 years"},
		{"now().Sleep()", "null", "", "unknown method"},
		{"input.Year()", "1", "", "is called on a time"},
	})
}
