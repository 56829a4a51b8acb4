package policy_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/policy"
)

func parse(t *testing.T, rules string) []policy.Rule {
	t.Helper()
	out, err := policy.ParseRules(json.RawMessage(rules), "policies")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func step(name string) policy.Subject {
	return policy.Subject{Name: name, Kind: policy.KindStep, Task: "orders." + name, Queue: "orders", Input: []byte(`{"n": 5}`)}
}

func retries(t *testing.T, rules string, s policy.Subject) int {
	t.Helper()
	p, err := policy.Resolve(parse(t, rules), s)
	if err != nil {
		t.Fatal(err)
	}
	return p.MaxRetries
}

func TestNoRuleGivesTheDefaults(t *testing.T) { // G1
	p, err := policy.Resolve(nil, step("s"))
	if err != nil || p != policy.Default() || p.MaxRetries != 0 || p.Timeout != 0 || p.OnFailure != policy.Halt || p.Mode != policy.Durable {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestTheFirstMatchWins(t *testing.T) { // G2, G3
	named := `[{"match": {"name": "s"}, "max_retries": 3}, {"match": "default", "max_retries": 1}]`
	if s, other := retries(t, named, step("s")), retries(t, named, step("t")); s != 3 || other != 1 {
		t.Errorf("got %d and %d retries, want 3 and 1", s, other)
	}
	if got := retries(t, `[{"match": "default", "max_retries": 1}, {"match": {"name": "s"}, "max_retries": 3}]`, step("s")); got != 1 {
		t.Errorf("got %d retries, want 1", got)
	}
}

func TestListsDoNotMergeDeeply(t *testing.T) { // G5
	p, err := policy.ResolveOver(policy.Default(), parse(t, `[{"match": {"name": "s"}, "timeout": "30s"}]`), step("s"),
		parse(t, `[{"match": {"name": "s"}, "max_retries": 3}]`))
	if err != nil || p.Timeout != 30*time.Second || p.MaxRetries != 0 {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestInheritFillsFromTheNextMatch(t *testing.T) {
	rules := parse(t, `[
		{"match": {"name": "s"}, "inherit": true, "timeout": "1s", "max_retries": 0},
		{"match": {"name": "t"}, "timeout": "7s"},
		{"match": {"kind": "step"}, "inherit": true, "max_retries": 3, "backoff": "linear"},
		{"match": "default", "backoff": "jitter", "max_lost": 2},
		{"match": "default", "base_delay": "9s"}]`)
	p, err := policy.Resolve(rules, step("s"))
	want := changed(func(p *policy.Policy) { p.Timeout, p.Backoff, p.MaxLost = time.Second, policy.Linear, 2 })
	if err != nil || p != want {
		t.Errorf("got %+v, %v; want %+v", p, err, want)
	}
}

func TestMatchers(t *testing.T) { // G7
	for match, want := range map[string]bool{
		`{"name": "s"}`:               true,
		`{"name": "S"}`:               false,
		`{"name": "/^s$|^t$/"}`:       true,
		`{"name": "/x/"}`:             false,
		`{"task": "orders.s"}`:        true,
		`{"task": "/^orders\\./"}`:    true,
		`{"task": "orders"}`:          false,
		`{"queue": "orders"}`:         true,
		`{"queue": "/^o/"}`:           true,
		`{"kind": "step"}`:            true,
		`{"kind": ["expr", "step"]}`:  true,
		`{"kind": ["expr", "sleep"]}`: false,
		`{"expr": "input.n > 4"}`:     true,
		`{"expr": "input.n > 5"}`:     false,
		`{"expr": "name == 's' && task startsWith 'orders' && kind == 'step'"}`: true,
		`{"name": "s", "kind": "expr"}`:                                         false,
		`{"name": "s", "expr": "false"}`:                                        false,
		`{"default": true}`:                                                     true,
		`"default"`:                                                             true,
	} {
		if got := retries(t, `[{"match": `+match+`, "max_retries": 9}]`, step("s")) == 9; got != want {
			t.Errorf("%s matches: %v, want %v", match, got, want)
		}
	}
}

func TestAMatcherThatCannotBeEvaluatedDoesNotMatch(t *testing.T) {
	for _, src := range []string{"input.x > 1", "input.n", "input.n > 'a'"} {
		if got := retries(t, `[{"match": {"expr": "`+src+`"}, "max_retries": 1}, {"match": "default", "max_retries": 2}]`, step("s")); got != 2 {
			t.Errorf("%s: %d retries, want 2", src, got)
		}
	}
}

func TestSyncForAStepNeverResolves(t *testing.T) {
	rules := parse(t, `[{"match": {"name": "s"}, "execution_mode": "sync"}]`)
	if p, err := policy.Resolve(rules, step("s")); err == nil {
		t.Errorf("got %+v", p)
	}
}

func TestKindsThatThePlannerEvaluatesHonourOnFailureOnly(t *testing.T) {
	rules := parse(t, `[{"match": "default", "max_retries": 3, "timeout": "1s", "execution_mode": "async", "on_failure": "skip", "queue": "q"}]`)
	for _, kind := range []policy.Kind{policy.KindExpr, policy.KindCondition, policy.KindSleep} {
		p, err := policy.Resolve(rules, policy.Subject{Name: "e", Kind: kind, Evaluated: true})
		want := changed(func(p *policy.Policy) { p.Mode, p.OnFailure = policy.Sync, policy.Skip })
		if err != nil || p != want {
			t.Errorf("%s: got %+v, %v; want %+v", kind, p, err, want)
		}
	}
}

func TestWhatThePlannerEvaluatesIsSync(t *testing.T) {
	if p := policy.DefaultOf(true); p.OnFailure != policy.Halt || p.Mode != policy.Sync {
		t.Errorf("got %+v", p)
	}
}

func TestARuleThatCannotBeHonouredIsRefused(t *testing.T) {
	expression := policy.Subject{Name: "e", Kind: policy.KindExpr, Evaluated: true}
	for _, c := range []struct {
		rule string
		s    policy.Subject
		ok   bool
	}{
		{`{"match": {"name": "s"}, "execution_mode": "sync"}`, step("s"), false},
		{`{"match": {"name": "/./"}, "execution_mode": "sync"}`, step("s"), false},
		{`{"match": {"name": "s", "expr": "input.n > 1"}, "execution_mode": "sync"}`, step("s"), false},
		{`{"match": {"kind": "expr"}, "execution_mode": "sync"}`, step("s"), true},
		{`{"match": {"kind": "expr"}, "execution_mode": "sync"}`, expression, true},
		{`{"match": {"name": "e"}, "execution_mode": "sync", "on_failure": "skip"}`, expression, true},
		{`{"match": {"name": "e"}, "execution_mode": "async"}`, expression, false},
		{`{"match": {"name": "e"}, "max_retries": 1}`, expression, false},
		{`{"match": {"name": "/e/"}, "max_retries": 1}`, expression, true}, // wider: ignored
		{`{"match": "default", "max_retries": 1}`, expression, true},
		{`{"match": {"name": "s"}, "max_retries": 1}`, step("s"), true},
	} {
		if problem, ok := parse(t, "["+c.rule+"]")[0].Check(c.s); ok != c.ok {
			t.Errorf("%s for %s: %v %v, want %v", c.rule, c.s.Name, ok, problem, c.ok)
		}
	}
}

func TestNarrowedRulesResolveTheSame(t *testing.T) {
	rules := parse(t, `[
		{"match": {"task": "/other/"}, "max_retries": 1},
		{"match": {"name": "s", "expr": "input.n > 9"}, "max_retries": 2},
		{"match": {"task": "/^orders/"}, "inherit": true, "max_retries": 3},
		{"match": {"kind": "step"}, "max_retries": 4, "timeout": "1s"},
		{"match": "default", "max_lost": 5}]`)
	for _, s := range []policy.Subject{step("s"), step("t"), {Name: "e", Kind: policy.KindExpr, Evaluated: true}, {Name: "s", Kind: policy.KindStep, Task: "other", Input: []byte(`{"n": 10}`)}} {
		whole, err := policy.Resolve(rules, s)
		if err != nil {
			t.Fatal(err)
		}
		narrow, err := policy.Resolve(policy.Narrow(rules, s), s)
		if err != nil || whole != narrow {
			t.Errorf("%s: narrowed %+v, %v; whole %+v", s.Name, narrow, err, whole)
		}
	}
	if n := len(policy.Narrow(rules, step("s"))); n != 3 {
		t.Errorf("%d rules are left, want 3", n)
	}
}
