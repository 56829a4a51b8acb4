package expr_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/expr"
)

// dear are expressions that get much done, or much memory, for few steps.
func dear() map[string]struct{ src, input string } {
	text := strings.Repeat("x", 100_000)
	umlauts := strings.Repeat("ä", 50_000)
	numbers := "[" + strings.TrimSuffix(strings.Repeat("1,", 100_000), ",") + "]"
	wide := func(first string) string {
		keys := make([]string, 10_000)
		for i := range keys {
			keys[i] = fmt.Sprintf(`"%s%d":%d`, first, i*7919%10_000, i)
		}
		return "{" + strings.Join(keys, ",") + "}"
	}
	two := fmt.Sprintf(`{"a":%q,"b":%q}`, text+"a", text+"b")
	return map[string]struct{ src, input string }{
		"loop in a loop":          {"all(1..400, all(1..400, true))", "null"},
		"arithmetic":              {"sum(1..50000, # * 3 % 7)", "null"},
		"floats":                  {"sum(1..50000, # * 3.5 / 7)", "null"},
		"fields":                  {"count(1..20000, input.a.b == #)", `{"a":{"b":3}}`},
		"a span":                  {"len(1..500000)", "null"},
		"lists":                   {"map(1..20000, [#, #])", "null"},
		"objects":                 {"map(1..20000, ({a: #, b: #}))", "null"},
		"filter in a map":         {"map(1..100, filter(1..100, # > 50))", "null"},
		"sort":                    {"sort(map(1..20000, # * 7919 % 20011))", "null"},
		"sort of texts":           {"sort(map(1..5000, string(# * 7919 % 20011)))", "null"},
		"sort of long texts":      {"len(sort(map(1..50, # % 2 == 0 ? input.a : input.b)))", two},
		"sortBy":                  {"sortBy(1..20000, # * 7919 % 20011)", "null"},
		"uniq":                    {"uniq(1..600)", "null"},
		"groupBy":                 {"groupBy(1..20000, # % 1000)", "null"},
		"median":                  {"median(map(1..20000, # * 7919 % 20011))", "null"},
		"a text that grows":       {"len(reduce(1..3000, #acc + 'xyz', ''))", "null"},
		"split":                   {"len(split(input, 'x'))", `"` + text + `"`},
		"replace":                 {"len(replace(input, 'x', 'yz'))", `"` + text + `"`},
		"upper":                   {"map(1..50, upper(input))", `"` + umlauts + `"`},
		"trim":                    {"trim(input, 'äöü')", `"` + umlauts + `"`},
		"trim by a long set":      {"trim(input.a, input.b)", fmt.Sprintf(`{"a":%q,"b":%q}`, umlauts[:2000], strings.Repeat("ö", 20_000)+"ä")},
		"characters":              {"count(1..50, input[#] == 'x')", `"` + umlauts + `"`},
		"a slice of a text":       {"map(1..20, input[1:2])", `"` + umlauts + `"`},
		"indexOf":                 {"map(1..50, indexOf(input, 'y'))", `"` + text + `"`},
		"lastIndexOf":             {"map(1..50, lastIndexOf(input, 'xy'))", `"` + text + `"`},
		"a pattern":               {"input matches '(x|y)*z'", `"` + text + `"`},
		"a slow pattern":          {"input matches '(x?){30}y.{20}z'", `"` + text[:20_000] + `"`},
		"patterns made":           {"count(1..30, 'a' matches input)", `"(a?){50}b"`},
		"toJSON":                  {"len(toJSON(input))", numbers},
		"fromJSON":                {"len(fromJSON(input))", `"` + numbers + `"`},
		"base64":                  {"map(1..50, toBase64(input))", `"` + text + `"`},
		"dates":                   {"count(1..5000, date('2024-01-02').Year() == 2024)", "null"},
		"formats":                 {"map(1..100, now().Format(input))", `"` + strings.Repeat("January ", 500) + `"`},
		"one object and another":  {"count(1..20, input.a == input.b)", `{"a":` + wide("a") + `,"b":` + wide("b") + `}`},
		"one object twice":        {"count(1..20, input.a == input.b)", `{"a":` + wide("a") + `,"b":` + wide("a") + `}`},
		"keys":                    {"map(1..10, len(keys(input)))", wide("a")},
		"merge":                   {"map(1..5, len(merge(input, input)))", wide("a")},
		"set":                     {"map(1..10, len(set(input, 'a', 1)))", wide("a")},
		"fromPairs":               {"len(fromPairs(map(1..20000, [string(#), #])))", "null"},
		"a long key":              {"count(1..200, input.o[input.k] == 1)", fmt.Sprintf(`{"k":%q,"o":{%q:1}}`, text, text)},
		"a long key, made":        {"map(1..200, len({(input): 1}))", `"` + text + `"`},
		"a long key in an object": {"count(1..200, input.k in input.o)", fmt.Sprintf(`{"k":%q,"o":{%q:1}}`, text, text)},
		"decoding numbers":        {"len(input)", numbers},
		"decoding objects":        {"len(input)", "[" + strings.TrimSuffix(strings.Repeat(`{"a":1,"b":"x"},`, 20_000), ",") + "]"},
		"decoding escapes":        {"len(input)", `"` + strings.Repeat(`\u00e4`, 20_000) + `"`},
		"passing over":            {"input.a", `{"b":` + numbers + `,"a":1}`},
		"writing numbers":         {"input", numbers},
		"writing floats":          {"map(1..50000, # / 7.0)", "null"},
		"writing objects":         {"input", wide("a")},
		"an error over an object": {"input.nothing", wide("a")},
	}
}

// BenchmarkSteps shows what a step takes of each: what stands far above the others is counted too low.
func BenchmarkSteps(b *testing.B) {
	for name, c := range dear() {
		b.Run(name, func(b *testing.B) {
			p, err := expr.Compile(c.src)
			if err != nil {
				b.Fatal(err)
			}
			steps := 0
			for b.Loop() {
				a := &expr.Account{Left: math.MaxInt}
				if _, err := p.Eval(expr.Env{Input: json.RawMessage(c.input), Account: a}); err != nil && name != "an error over an object" {
					b.Fatal(err)
				}
				steps += math.MaxInt - a.Left
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
			b.ReportMetric(float64(steps)/float64(b.N), "steps/op")
		})
	}
}
