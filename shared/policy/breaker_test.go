package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/policy"
)

func TestABreakerIsRead(t *testing.T) {
	for rule, want := range map[string]policy.Breaker{
		`{"name": "b", "failure_threshold": 2, "reset_timeout": "90s"}`:                   {Name: "b", Threshold: 2, Reset: 90 * time.Second},
		`{"name": "b", "failure_threshold": 2, "reset_timeout_ms": 5, "on_open": "fail"}`: {Name: "b", Threshold: 2, Reset: 5 * time.Millisecond, OnOpen: policy.FailOpen},
		`"none"`:     {},
		`"infinity"`: {},
	} {
		got, err := one(`"circuit_breaker": ` + rule)
		if err != nil || got.Breaker != want {
			t.Errorf("%s is read as %+v, want %+v: %v", rule, got.Breaker, want, err)
		}
	}
}

func TestABreakerThatIsWrongIsRefused(t *testing.T) {
	for rules, want := range map[string]string{
		`[{"match": "default", "circuit_breaker": 3}]`:                                                                                   "circuit_breaker: must be an object of name, failure_threshold, reset_timeout and on_open",
		`[{"match": "default", "circuit_breaker": {"name": "b"}}]`:                                                                       "circuit_breaker.failure_threshold: missing",
		`[{"match": "default", "circuit_breaker": {"name": "b", "failure_threshold": 3}}]`:                                               "circuit_breaker.reset_timeout: missing",
		`[{"match": "default", "circuit_breaker": {"name": "", "failure_threshold": 3, "reset_timeout": "1s"}}]`:                         "circuit_breaker.name: must be the name of a breaker",
		`[{"match": "default", "circuit_breaker": {"name": "a\u0009b", "failure_threshold": 3, "reset_timeout": "1s"}}]`:                 "has a control character",
		`[{"match": "default", "circuit_breaker": {"name": "b", "failure_threshold": 0, "reset_timeout": "1s"}}]`:                        "must be an integer from 1 to",
		`[{"match": "default", "circuit_breaker": {"name": "b", "failure_threshold": 3, "reset_timeout": "25h"}}]`:                       "must be whole milliseconds from 1ms to 24h",
		`[{"match": "default", "circuit_breaker": {"name": "b", "failure_threshold": 3, "reset_timeout": "1s", "reset_timeout_ms": 1}}]`: "circuit_breaker.reset_timeout_ms: there is reset_timeout already",
		`[{"match": "default", "circuit_breaker": {"name": "b", "failure_threshold": 3, "reset_timeout": "1s", "on_open": "wiat"}}]`:     "did you mean wait? known are fail, wait",
		`[{"match": "default", "circuit_breaker": {"name": "b", "threshold": 3, "reset_timeout": "1s"}}]`:                                "circuit_breaker.threshold: unknown field",
	} {
		if _, err := policy.ParseRules(json.RawMessage(rules), "policies"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", rules, err, want)
		}
	}
}
