package expr_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/expr"
)

// What evaluations take together is counted, and the one that finds too little left fails.
func TestEvaluationsShareAnAccount(t *testing.T) {
	numbers := json.RawMessage("[" + strings.TrimSuffix(strings.Repeat("1,", 10_000), ",") + "]")
	fields := json.RawMessage(`{"a":1,"b":` + string(numbers) + `}`)
	for _, c := range []struct {
		name, src string
		input     json.RawMessage
		least     int // steps that it takes
		most      int
	}{
		{"elements are visited", "all(1..500, true)", nil, 500, 2000},
		{"an input is decoded", "len(input)", numbers, 20_000, 25_000},
		{"a field is read, the rest passed over", "input.a", fields, 300, 400},
		{"a result is written", "input", numbers, 30_000, 35_000},
		{"text is passed over by the piece", "input.a", json.RawMessage(`{"a":1,"b":"` + strings.Repeat("x", 64_000) + `"}`), 1000, 1100},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := expr.Compile(c.src)
			if err != nil {
				t.Fatal(err)
			}
			a := &expr.Account{Left: 1 << 30}
			want, err := p.Eval(expr.Env{Input: c.input, Account: a})
			if err != nil {
				t.Fatal(err)
			}
			took := 1<<30 - a.Left
			if took < c.least || took > c.most {
				t.Errorf("took %d steps, want %d to %d", took, c.least, c.most)
			}
			if got, err := p.Eval(expr.Env{Input: c.input, Account: &expr.Account{Left: took}}); err != nil || string(got) != string(want) {
				t.Errorf("with just enough left: %v", err)
			}
			short := &expr.Account{Left: took - 1}
			if _, err := p.Eval(expr.Env{Input: c.input, Account: short}); short.Left >= 0 {
				t.Errorf("one step too few leaves %d, error %v", short.Left, err)
			}
			none := &expr.Account{Left: -1}
			if _, err := p.Eval(expr.Env{Input: c.input, Account: none}); err == nil {
				t.Error("evaluated with nothing left")
			}
		})
	}
}

// What takes long, or much memory, takes steps, however few nodes say it.
func TestWorkTakesSteps(t *testing.T) {
	text := strings.Repeat("x", 64_000)
	wide := make([]string, 1000)
	for i := range wide {
		wide[i] = fmt.Sprintf(`"%d":%d`, i, i)
	}
	object := "{" + strings.Join(wide, ",") + "}"
	two := fmt.Sprintf(`{"a":%q,"b":%q}`, text+"a", text+"b")
	for _, c := range []struct {
		name, src, input string
		least            int
	}{
		{"a span", "1..100000", "null", 40_000},
		{"a text", "len(repeat('x', 6400000))", "null", 100_000},
		{"objects that are not equal", "count(1..100, input.a == input.b)", `{"a":` + object + `,"b":{"x":1,` + object[strings.Index(object, ",")+1:] + `}`, 200_000},
		{"what an object has not", "input.x", object, 2500},
		{"long texts in order", "len(sort([input.a, input.b, input.a, input.b]))", two, 10_000},
		{"a long key", "count(1..100, input.o[input.k] == 1)", fmt.Sprintf(`{"k":%q,"o":{%q:1}}`, text, text), 100_000},
		{"a long key of a pair", "len(map(1..100, len({(input): 1})))", `"` + text + `"`, 100_000},
		{"a set of characters", "trim(input.a, input.b)", two, 1_000_000},
		{"JSON in a text", "len(fromJSON(input))", `"[` + strings.Repeat("1,", 9_999) + `1]"`, 20_000},
		{"JSON made", "len(toJSON(input))", "[" + strings.Repeat("1,", 9_999) + "1]", 30_000},
		{"an object read", "len(input)", object, 4000},
		{"escapes", "len(input)", `"` + strings.Repeat(`\u00e4`, 10_000) + `"`, 7000},
		{"a format", "len(map(1..100, now().Format(input)))", `"` + text[:6400] + `"`, 20_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := expr.Compile(c.src)
			if err != nil {
				t.Fatal(err)
			}
			a := &expr.Account{Left: 1 << 30}
			_, err = p.Eval(expr.Env{Input: json.RawMessage(c.input), Account: a})
			if took := 1<<30 - a.Left; took < c.least {
				t.Errorf("took %d steps, want %d; %v", took, c.least, err)
			}
		})
	}
}

// What fans out reads one input: it is decoded once, whichever expression changes what comes of it.
func TestAnAccountDecodesAnInputOnce(t *testing.T) {
	input := json.RawMessage(`{"list":[3,1,2],"x":{"y":1}}`)
	a := &expr.Account{Left: 1000}
	for _, c := range []struct{ src, want string }{
		{"merge(input.x, {y: 2})", `{"y":2}`},
		{"[input, sort(input.list)]", `[{"list":[3,1,2],"x":{"y":1}},[1,2,3]]`},
		{"set(input, 'x', 1)", `{"list":[3,1,2],"x":1}`},
		{"append(input.list, 4)", `[3,1,2,4]`},
		{"reverse(input.list)", `[2,1,3]`},
		{"input", `{"list":[3,1,2],"x":{"y":1}}`},
	} {
		p, err := expr.Compile(c.src)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Eval(expr.Env{Input: input, Account: a})
		if err != nil || string(got) != c.want {
			t.Errorf("%s gives %s, %v; want %s", c.src, got, err, c.want)
		}
	}
	p, err := expr.Compile("len(input)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(expr.Env{Input: input, Account: a}); err != nil {
		t.Fatal(err)
	}
	before := a.Left
	if _, err := p.Eval(expr.Env{Input: input, Account: a}); err != nil {
		t.Fatal(err)
	}
	again := before - a.Left
	if _, err := p.Eval(expr.Env{Input: append(json.RawMessage(nil), input...), Account: a}); err != nil {
		t.Fatal(err)
	}
	if anew := before - again - a.Left; anew <= again {
		t.Errorf("an equal input elsewhere took %d steps, the same one %d", anew, again)
	}
}

// Collecting elements one after the other takes as many steps for the last as for the first, and
// never changes a list that somebody has.
func TestAppendTakesTheRoomBehindItsOwnList(t *testing.T) {
	p, err := expr.CompileReducer("append(acc, item)")
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	a := &expr.Account{Left: 20 * n}
	fold := expr.Fold{Acc: []any{}}
	for i := range n {
		fold.Item = int64(i)
		if fold.Acc, err = p.Value(expr.Env{Fold: &fold, Account: a}); err != nil {
			t.Fatal(err)
		}
	}
	list := fold.Acc.([]any)
	for i, v := range list {
		if v != int64(i) {
			t.Fatalf("element %d is %v", i, v)
		}
	}
	for _, branch := range []string{"one", "other"} {
		fold.Acc, fold.Item = list, branch
		v, err := p.Value(expr.Env{Fold: &fold, Account: a})
		if err != nil || len(v.([]any)) != n+1 || v.([]any)[n] != branch {
			t.Fatal(err)
		}
		defer func() {
			if got := v.([]any)[n]; got != branch {
				t.Errorf("the list with %s behind it ends with %v now", branch, got)
			}
		}()
	}
}
