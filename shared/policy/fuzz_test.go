package policy_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// Rules are read the same each time or refused with a path; a policy that
// decodes has one form.
func FuzzParseRules(f *testing.F) {
	for _, s := range []string{
		`[]`, `[{"match":"default","max_retries":3}]`, `[{"match":{"task":"/^orders\\./","kind":["step"]},"backoff":"jitter","base_delay":"1s","timeout":"PT5S"}]`,
		`[{"match":{"name":"a","when":"input.n > 1"},"preset":"io","inherit":true}]`, `[{"match":{"name":"/(((/"}}]`, `[1,{}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var rules []policy.Rule
		var err error
		wiretest.Bounded(t, len(raw), 4<<10, 4<<20, func() { rules, err = policy.ParseRules(json.RawMessage(raw), "policies") })
		if err == nil {
			if again, err := policy.ParseRules(json.RawMessage(raw), "policies"); err != nil || len(again) != len(rules) {
				t.Errorf("%q: %d rules, then %d, %v", raw, len(rules), len(again), err)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := policy.Parse(b)
		if err != nil {
			return
		}
		own := p.Append(nil)
		again, err := policy.Parse(own)
		if err != nil || !bytes.Equal(again.Append(nil), own) {
			t.Errorf("%x is %+v, then %+v, %v", b, p, again, err)
		}
		for failed := range 3 {
			if p.Delay(failed, 7) < 0 {
				t.Errorf("%+v waits %v", p, p.Delay(failed, 7))
			}
		}
	})
}

// Regular expressions of a list of rules are bounded, each and together: they are
// kept, and matched for every activation.
func TestRegularExpressionsOfRulesAreBounded(t *testing.T) {
	large := `{"match":{"name":"/(a?){1000}/"}}`
	for src, ok := range map[string]bool{
		`[{"match":{"name":"/^[a-z]{1,64}$/"}}]`:                        true,
		`[` + large + `]`:                                               true,
		`[{"match":{"name":"/(a?a?a?a?a?a?){1000}/"}}]`:                 false,
		`[{"match":{"expr":"name matches '(a?a?a?a?a?a?){1000}'"}}]`:    false,
		`[` + strings.Repeat(large+",", 8) + large + `]`:                false,
		`[` + strings.Repeat(`{"match":{"name":"/^a$/"}},`, 99) + `{}]`: true,
	} {
		_, err := policy.ParseRules(json.RawMessage(src), "policies")
		if refused := err != nil && strings.Contains(err.Error(), "instructions"); refused == ok {
			t.Errorf("%.60s: %v", src, err)
		}
	}
}

// A recorded fallback has one form, or is refused.
func FuzzParseFallback(f *testing.F) {
	for _, s := range []string{``, `{"value":null}`, `{"expr":"input + 1"}`, `{"task":"bank.lookup","queue":"books"}`, `{"retry_with":{"a":1}}`, `{`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var fall policy.Fallback
		var err error
		wiretest.Bounded(t, len(text), 4<<10, 4<<20, func() { fall, err = policy.ParseFallback(text) })
		if err == nil && (fall.Form == 0) != (text == "") {
			t.Errorf("%q has the form %d", text, fall.Form)
		}
	})
}
