package policy

import (
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/expr"
)

func resolved(t *testing.T, rules string) Policy {
	t.Helper()
	list, err := ParseRules([]byte(rules), "policies")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Resolve(list, Subject{Name: "s", Kind: KindStep})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNoneLiftsWhatALaterRuleOrAPresetSays(t *testing.T) {
	later := `{"match": "default", "timeout": "7s", "start_timeout": "8s", "deadline": "9s", "max_retries": 1, "max_lost": 2}]`
	for own, want := range map[string]Policy{
		`"timeout": "none", "start_timeout": "infinity", "deadline": "none"`:              {MaxRetries: 1, MaxLost: 2},
		`"timeout_ms": "infinity", "start_timeout_ms": "none", "deadline_ms": "infinity"`: {MaxRetries: 1, MaxLost: 2},
		`"max_retries": "infinity", "max_lost": "infinity"`:                               {MaxRetries: Unbounded, MaxLost: Unbounded, Timeout: 7 * time.Second, StartTimeout: 8 * time.Second, Deadline: 9 * time.Second},
		`"timeout": "none", "preset": "fast_fail", "max_retries": 3`:                      {MaxRetries: 3, MaxLost: 2, StartTimeout: 8 * time.Second, Deadline: 9 * time.Second},
	} {
		want.BaseDelay, want.MaxDelay = DefaultBaseDelay, DefaultMaxDelay
		got := resolved(t, `[{"match": {"name": "s"}, "inherit": true, `+own+`},`+later)
		if got != want {
			t.Errorf("%s: got %+v, want %+v", own, got, want)
		}
		if back, err := Parse(got.Append(nil)); err != nil || back != got {
			t.Errorf("%s is recorded as %+v: %v", own, back, err)
		}
	}
	for field, said := range map[string]string{"timeout": `"7s"`, "heartbeat_timeout": `"7s"`, "idempotency_key": `"'k'"`} {
		rules := `[{"match": {"name": "s"}, "inherit": true, "` + field + `": "none"}, {"match": "default", "` + field + `": ` + said + `}]`
		if b := resolved(t, rules).Append(nil); len(b) > 0 {
			t.Errorf("a policy whose %s is lifted takes the bytes %x", field, b)
		}
	}
}

func TestWhatCannotBeLiftedIsRefused(t *testing.T) {
	for _, field := range []string{`"base_delay": "none"`, `"max_delay": "infinity"`, `"max_retries": "none"`, `"backoff": "infinity"`, `"on_lost": "none"`, `"timeout": "None"`, `"priority": "none"`} {
		if r, err := RuleOf(decoded(t, `{`+field+`}`), "policy"); err == nil {
			t.Errorf("%s is read as %+v", field, r.fields)
		}
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	v, err := expr.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A field that is an expression is compiled where it is read, sees what it may see, and is recorded as its text.
func TestAFieldMayBeAnExpression(t *testing.T) {
	f := optional(expression("when", SeesFailure, func(p *Policy) *string { return &p.Queue }))
	for text, ok := range map[string]bool{
		`error.type == "busy" && attempt < 3`:  true,
		`error.details?.code in [1, 2]`:        true,
		`let attempts = attempt; attempts > 1`: true,
		`attempt`:                              false, // no condition
		`input.n > 1`:                          false,
		`state > 1`:                            false,
		`error.type ==`:                        false,
		`"none" == error`:                      true,
	} {
		d, p := decoder{}, Default()
		f.read(&d, &p, "", text, false)
		if (d.errs == nil) != ok || ok && p.Queue != text {
			t.Errorf("%s is read as %q: %v", text, p.Queue, d.errs)
		}
		var back Policy
		if rest, whole := f.parse(&back, f.append(nil, &p)); len(rest) > 0 || !whole || back.Queue != p.Queue {
			t.Errorf("%s is recorded as %q", text, back.Queue)
		}
	}
	d, p := decoder{}, Policy{Queue: "x"}
	f.read(&d, &p, "", "none", false)
	if p.Queue != "" || d.errs != nil {
		t.Errorf("none leaves %q: %v", p.Queue, d.errs)
	}
	f.read(&d, &p, "", int64(7), false)
	if d.errs == nil {
		t.Error("a number is an expression")
	}
}

func TestAttemptsAreSeenByConditionsOfFailuresOnly(t *testing.T) {
	p, err := Compile(SeesFailure, `error.type == "busy" && attempt == 2`)
	if err != nil {
		t.Fatal(err)
	}
	if holds, err := p.Holds(expr.Env{Attempt: 2, Input: []byte(`{"error": {"type": "busy"}}`)}); !holds || err != nil {
		t.Errorf("%t, %v", holds, err)
	}
	if _, err := Compile(SeesStep, `attempt == 2`); err == nil {
		t.Error("a step sees attempt")
	}
	if p, err := Compile(SeesStep, `let attempt = input.n; attempt + 1`); err != nil {
		t.Errorf("a step cannot name what it lets attempt: %v", err)
	} else if v, err := p.Eval(expr.Env{Input: []byte(`{"n": 1}`)}); string(v) != "2" || err != nil {
		t.Errorf("%s, %v", v, err)
	}
}
