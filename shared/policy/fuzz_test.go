package policy_test

import (
	"bytes"
	"encoding/json"
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
