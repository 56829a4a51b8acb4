package expr_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// What Decode reads is JSON, and is written as the same value.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,true,false,null,"x\u00e4\n"]}`, `9223372036854775808`, `1e999`, `-0.0`, `"\ud800"`, `{"a":1,"a":2}`, "\"\xff\"", strings.Repeat("[", 200)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var v any
		var err error
		wiretest.Bounded(t, len(raw), 64, 0, func() { v, err = expr.Decode(raw) })
		if err != nil {
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("%q is read as %v", raw, v)
		}
		b, err := expr.Append(nil, v)
		if err != nil || !json.Valid(b) {
			t.Fatalf("%q is written as %q, %v", raw, b, err)
		}
		again, err := expr.Decode(b)
		if err != nil {
			t.Fatalf("%q is not read again: %v", b, err)
		}
		if c, err := expr.Append(nil, again); err != nil || string(c) != string(b) {
			t.Fatalf("%q is written as %q, then %q, %v", raw, b, c, err)
		}
	})
}

// Members that are split, and fields that are stepped over, are those of the object.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(` { "a" : [ 1 ], "b":{"c": "}"} , "\u0061b": 1e999 } `))
	f.Add([]byte(`{"a":1,"a":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := expr.Members(raw)
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil || want == nil {
			return
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q has members %q, %v; want %q", raw, got, err, want)
		}
		for name, v := range want {
			if strings.TrimSpace(string(got[name])) != string(v) {
				t.Errorf("%q: %q is %q, want %q", raw, name, got[name], v)
			}
		}
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"1m30s", "7d", "1d12h", "PT1M30S", "P1DT12H", "P2W", "-5s", "106751d23h47m16.854775807s", "9e99d", "1e18d", "P106752D"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := expr.ParseNumber(s); err == nil && json.Valid([]byte(s)) {
			if _, err := expr.Append(nil, v); err != nil {
				t.Errorf("%q is %v: %v", s, v, err)
			}
		}
		d, err := expr.ParseDuration(s)
		if err != nil || d == math.MinInt64 {
			return
		}
		again, err := expr.ParseDuration(d.String())
		if err != nil || again != d {
			t.Errorf("%q is %v, then %v, %v", s, d, again, err)
		}
		if negative := strings.HasPrefix(s, "-"); negative && d > 0 || !negative && d < 0 {
			t.Errorf("%q is %v", s, d)
		}
	})
}
