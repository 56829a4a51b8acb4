package policy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/policy"
)

// one parses a list with one rule that matches everything and resolves it for a step.
func one(fields string) (policy.Policy, error) {
	rules, err := policy.ParseRules(json.RawMessage(`[{"match": "default", `+fields+`}]`), "policies")
	if err != nil {
		return policy.Policy{}, err
	}
	return policy.Resolve(rules, policy.Subject{Name: "s", Kind: policy.KindStep, Task: "a.b", Queue: "a"})
}

// changed is the default policy with a change.
func changed(change func(*policy.Policy)) policy.Policy {
	p := policy.Default()
	change(&p)
	return p
}

func TestEachFieldIsRead(t *testing.T) {
	for fields, change := range map[string]func(*policy.Policy){
		`"max_retries": 3`:               func(p *policy.Policy) { p.MaxRetries = 3 },
		`"max_lost": 0`:                  func(p *policy.Policy) { p.MaxLost = 0 },
		`"backoff": "none"`:              func(p *policy.Policy) { p.Backoff = policy.None },
		`"backoff": "linear"`:            func(p *policy.Policy) { p.Backoff = policy.Linear },
		`"backoff": "exponential"`:       func(p *policy.Policy) { p.Backoff = policy.Exponential },
		`"backoff": "jitter"`:            func(p *policy.Policy) { p.Backoff = policy.Jitter },
		`"base_delay": "0s"`:             func(p *policy.Policy) { p.BaseDelay = 0 },
		`"base_delay": "1s"`:             func(p *policy.Policy) { p.BaseDelay = time.Second },
		`"base_delay_ms": 250`:           func(p *policy.Policy) { p.BaseDelay = 250 * time.Millisecond },
		`"max_delay": "PT1M"`:            func(p *policy.Policy) { p.MaxDelay = time.Minute },
		`"max_delay_ms": 60000`:          func(p *policy.Policy) { p.MaxDelay = time.Minute },
		`"timeout": "1m30s"`:             func(p *policy.Policy) { p.Timeout = 90 * time.Second },
		`"timeout": "1d"`:                func(p *policy.Policy) { p.Timeout = 24 * time.Hour },
		`"timeout_ms": 20`:               func(p *policy.Policy) { p.Timeout = 20 * time.Millisecond },
		`"start_timeout": "P1DT12H"`:     func(p *policy.Policy) { p.StartTimeout = 36 * time.Hour },
		`"deadline": "36h"`:              func(p *policy.Policy) { p.Deadline = 36 * time.Hour },
		`"idempotency_key": "'a' + 'b'"`: func(p *policy.Policy) { p.IdempotencyKey = "'a' + 'b'" },
		`"heartbeat_timeout": "1m"`:      func(p *policy.Policy) { p.HeartbeatTimeout = time.Minute },
		`"start_timeout_ms": 1`:          func(p *policy.Policy) { p.StartTimeout = time.Millisecond },
		`"on_failure": "halt"`:           func(p *policy.Policy) { p.OnFailure = policy.Halt },
		`"on_failure": "skip"`:           func(p *policy.Policy) { p.OnFailure = policy.Skip },
		`"on_lost": "retry"`:             func(p *policy.Policy) { p.OnLost = policy.RetryLost },
		`"on_lost": "fail"`:              func(p *policy.Policy) { p.OnLost = policy.FailLost },
		`"execution_mode": "durable"`:    func(p *policy.Policy) { p.Mode = policy.Durable },
		`"execution_mode": "async"`:      func(p *policy.Policy) { p.Mode = policy.Async },
		`"execution_mode": "external"`:   func(p *policy.Policy) { p.Mode = policy.External },
		`"queue": "fast-lane_1"`:         func(p *policy.Policy) { p.Queue = "fast-lane_1" },
		`"preset": "fast_fail"`:          func(p *policy.Policy) { p.Timeout = 5 * time.Second },
		`"preset": "io", "timeout_ms": 7`: func(p *policy.Policy) {
			p.MaxRetries, p.Backoff, p.BaseDelay, p.Timeout, p.OnFailure = 2, policy.Linear, 500*time.Millisecond, 7*time.Millisecond, policy.Skip
		},
		`"preset": "llm"`: func(p *policy.Policy) {
			p.MaxRetries, p.Backoff, p.BaseDelay, p.MaxDelay, p.Timeout = 3, policy.Exponential, time.Second, 30*time.Second, 30*time.Second
		},
	} {
		got, err := one(fields)
		if want := changed(change); err != nil || got != want {
			t.Errorf("{%s} = %+v, %v; want %+v", fields, got, err, want)
		}
	}
}

func TestABadRuleIsRefusedWithItsPath(t *testing.T) {
	for rules, want := range map[string]string{
		`{}`:                                   "policies: must be a list",
		`[1]`:                                  "policies[0]: a rule must be an object",
		`[`:                                    "policies: decode JSON",
		`[{"max_retries": 1}]`:                 "policies[0].match: missing",
		`[{"match": "default"}]`:               "policies[0]: gives no field",
		`[{"match": "all", "max_retries": 1}]`: "policies[0].match: must be an object",
		`[{"match": {}, "max_retries": 1}]`:    "policies[0].match: must be an object",
		`[{"match": {"default": false}, "max_retries": 1}]`:                                          "policies[0].match.default: must be true",
		`[{"match": {"default": true, "name": "a"}, "max_retries": 1}]`:                              "policies[0].match.default: matches everything",
		`[{"match": {"name": "a", "max_retries": 1}}]`:                                               "policies[0].match.max_retries: is a field of the rule, not a matcher (write it beside match: {match: …, max_retries: …})",
		`[{"match": {"name": "a", "timeout_ms": 1}}]`:                                                "policies[0].match.timeout_ms: is a field of the rule",
		`[{"name": "a", "max_retries": 1}]`:                                                          "policies[0].name: is a matcher (write match: {name: …})",
		`[{"match": {"nmae": "a"}, "max_retries": 1}]`:                                               "policies[0].match.nmae: unknown matcher",
		`[{"match": {"name": ""}, "max_retries": 1}]`:                                                "policies[0].match.name: must be a text",
		`[{"match": {"name": 1}, "max_retries": 1}]`:                                                 "policies[0].match.name: must be a text",
		`[{"match": {"task": "/(/"}, "max_retries": 1}]`:                                             "policies[0].match.task: bad regular expression",
		`[{"match": {"kind": "mop"}, "max_retries": 1}]`:                                             `policies[0].match.kind: unknown kind "mop"`,
		`[{"match": {"kind": []}, "max_retries": 1}]`:                                                "policies[0].match.kind: matches nothing",
		`[{"match": {"kind": ["step", "foo"]}, "max_retries": 1}]`:                                   `unknown kind "foo"`,
		`[{"match": {"expr": "1 +"}, "max_retries": 1}]`:                                             "policies[0].match.expr: expression",
		`[{"match": {"expr": "1"}, "max_retries": 1}]`:                                               "this must be a boolean",
		`[{"match": {"expr": true}, "max_retries": 1}]`:                                              "must be an expression",
		`[{"match": "default", "retries": 1}]`:                                                       "policies[0].retries: unknown field (known are backoff,",
		`[{"match": "default", "heartbeat_timeout_ms": 999}]`:                                        "policies[0].heartbeat_timeout_ms: must be from 1s to 3650d",
		`[{"match": "default", "heartbeat_timeout": "1y"}]`:                                          "policies[0].heartbeat_timeout: ",
		`[{"match": "default", "deadline": "0s"}]`:                                                   "policies[0].deadline: must be from",
		`[{"match": "default", "idempotency_key": "input +"}]`:                                       "policies[0].idempotency_key: ",
		`[{"match": "default", "idempotency_key": "attempt"}]`:                                       "unknown name \x60attempt\x60",
		`[{"match": "default", "idempotency_key": 7}]`:                                               "policies[0].idempotency_key: must be an expression",
		`[{"match": "default", "fallback": 1}]`:                                                      "policies[0].fallback: must be an object with one of value, expr, task and retry_with",
		`[{"match": "default", "fallback": {"vale": 1}}]`:                                            "policies[0].fallback.vale: unknown field (did you mean value? known are expr, retry_with, task, value)",
		`[{"match": "default", "fallback": {}}]`:                                                     "policies[0].fallback: must be an object with one of value, expr, task and retry_with",
		`[{"match": "default", "fallback": {"value": 1, "expr": "1"}}]`:                              "policies[0].fallback: must be an object with one of value, expr, task and retry_with",
		`[{"match": "default", "fallback": {"value": 1, "queue": "q"}}]`:                             "policies[0].fallback.value: stands with other fields",
		`[{"match": "default", "fallback": {"expr": "input +"}}]`:                                    "policies[0].fallback.expr: ",
		`[{"match": "default", "fallback": {"task": "a b"}}]`:                                        "policies[0].fallback.task: must be the name of a task",
		`[{"match": "default", "fallback": {"task": "a", "queue": 1}}]`:                              "policies[0].fallback.queue: ",
		`[{"match": "default", "fallback": {"task": "a", "n": 1}}]`:                                  "policies[0].fallback.n: unknown field",
		`[{"match": "default", "fallback": {"retry_with": {}}}]`:                                     "policies[0].fallback.retry_with: must be an object of values of the context",
		`[{"match": "default", "on_lost": {"queue": "q"}}]`:                                          "policies[0].on_lost.probe: missing",
		`[{"match": "default", "on_lost": {"probe": "a", "n": 1}}]`:                                  "policies[0].on_lost.n: unknown field",
		`[{"match": "default", "priority": "hihg"}]`:                                                 "did you mean high? known are critical, high, low, normal",
		`[{"match": "default", "retry_if": "attempt"}]`:                                              "policies[0].retry_if: ",
		`[{"match": "default", "retry_if": "input > 1"}]`:                                            "unknown name \x60input\x60",
		`[{"match": "default", "non_retryable": []}]`:                                                "policies[0].non_retryable: must be a list of 1 to 100 types of errors",
		`[{"match": "default", "non_retryable": ["a", 1]}]`:                                          "policies[0].non_retryable[1]: must be the type of an error",
		`[{"match": "default", "non_retryable": ["a\nb"]}]`:                                          "policies[0].non_retryable[0]: must be the type of an error",
		`[{"match": "default", "concurrency": {}}]`:                                                  "write {key: ",
		`[{"match": "default", "concurrency": {"key": "1 +", "limit": 1}}]`:                          "concurrency.key",
		`[{"match": "default", "concurrency": {"key": "prices", "limit": 1}}]`:                       "are input, context, workflow, now(), error, state, states (the key is an expression, a fixed one stands in quotes of its own)",
		`[{"match": "default", "concurrency": {"key": "'a'", "limit": 0}}]`:                          "must be an integer from 1 to",
		`[{"match": "default", "concurrency": {"key": "'a'", "limits": 2}}]`:                         "unknown field",
		`[{"match": "default", "concurrency": 3}]`:                                                   "must be an object of key and limit",
		`[{"match": "default", "rate_limit": {}}]`:                                                   "rate_limit.per: missing",
		`[{"match": "default", "rate_limit": 3}]`:                                                    "must be an object of key, limit and per",
		`[{"match": "default", "rate_limit": {"key": "'a'", "limit": 1, "per": "0s"}}]`:              "must be whole milliseconds from 1ms to 24h",
		`[{"match": "default", "rate_limit": {"key": "'a'", "limit": 1, "per": 3}}]`:                 "rate_limit.per: must be a duration",
		`[{"match": "default", "rate_limit": {"key": "'a'", "limit": 1, "per": "1s", "per_ms": 3}}]`: "give one of them",
		`[{"match": "default", "concurrency": {"key": "'a'", "limit": 1, "per": "1s"}}]`:             "concurrency.per: unknown field",
		`[{"match": "default", "executor": "a"}]`:                                                    `policies[0].executor: "a": want workers, or pool:NAME`,
		`[{"match": "default", "executor": "pool:a/b"}]`:                                             `policies[0].executor: pool name "a/b"`,
		`[{"match": "default", "executor": 3}]`:                                                      "policies[0].executor: 3: want workers, or pool:NAME",
		`[{"match": "default", "on_failure": "compensate"}]`:                                         `policies[0].on_failure: "compensate" is not supported by this version`,
		`[{"match": "default", "on_lost": "probe"}]`:                                                 "known are fail, hold, retry; a task is asked with {probe: bank.lookup}",
		`[{"match": "default", "execution_mode": "fast"}]`:                                           `"fast" is not supported by this version (known are async, durable, external, sync)`,
		`[{"match": "default", "execution_mode": "sync"}]`:                                           "policies[0].execution_mode: sync is not possible for a step",
		`[{"match": {"kind": ["expr", "step"]}, "execution_mode": "sync"}]`:                          "sync is not possible for a step",
		`[{"match": {"task": "a", "kind": "expr"}, "execution_mode": "sync"}]`:                       "sync is not possible for a step",
		`[{"match": {"expr": "true"}, "execution_mode": "sync"}]`:                                    "sync is not possible for a step",
		`[{"match": "default", "backoff": 1}]`:                                                       "policies[0].backoff: 1 is not",
		`[{"match": "default", "max_retries": -1}]`:                                                  "must be an integer from 0 to 1000000, or infinity",
		`[{"match": "default", "max_retries": 1.5}]`:                                                 "must be an integer from 0",
		`[{"match": "default", "max_retries": "1"}]`:                                                 "must be an integer from 0",
		`[{"match": "default", "timeout": 1}]`:                                                       "must be a duration with its unit, such as 30s, 500ms or PT30S",
		`[{"match": "default", "timeout": "1"}]`:                                                     `"1" is no duration`,
		`[{"match": "default", "timeout": "0s"}]`:                                                    "policies[0].timeout: must be from 1ns to 3650d (none is no limit)",
		`[{"match": "default", "timeout": "-1s"}]`:                                                   "must be from",
		`[{"match": "default", "timeout": "P1Y"}]`:                                                   "is no duration",
		`[{"match": "default", "timeout": "200000h"}]`:                                               "must be from",
		`[{"match": "default", "timeout_ms": "1s"}]`:                                                 "must be an integer of milliseconds",
		`[{"match": "default", "timeout_ms": 9223372036854775807}]`:                                  "must be an integer of milliseconds",
		`[{"match": "default", "timeout": "1s", "timeout_ms": 1}]`:                                   "policies[0].timeout_ms: given twice",
		`[{"match": "default", "max_retries_ms": 1}]`:                                                "unknown field",
		`[{"match": "default", "queue": "a/b"}]`:                                                     "policies[0].queue: queue name",
		`[{"match": "default", "queue": ""}]`:                                                        "queue name",
		`[{"match": "default", "inherit": "yes", "max_retries": 1}]`:                                 "policies[0].inherit: must be true or false",
		`[{"match": "default", "preset": "slow"}]`:                                                   `unknown preset "slow" (known are fast_fail, io, llm)`,
	} {
		_, err := policy.ParseRules(json.RawMessage(rules), "policies")
		var all policy.Errors
		if !errors.As(err, &all) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", rules, err, want)
		}
	}
}

func TestAllErrorsAreReported(t *testing.T) {
	_, err := policy.ParseRules(json.RawMessage(`[{"match": "default", "a": 1, "max_retries": -1}, {"match": {"b": 1}, "timeout": 3}]`), "options.policies")
	var all policy.Errors
	if !errors.As(err, &all) || len(all) != 4 || all[3].Path != "options.policies[1].timeout" {
		t.Errorf("got %v", err)
	}
}

func TestTheRulesOfAListAreBounded(t *testing.T) {
	many := strings.Repeat(`{"match": "default", "max_retries": 1},`, policy.MaxRules)
	if _, err := policy.ParseRules(json.RawMessage("["+many[:len(many)-1]+"]"), "p"); err != nil {
		t.Error(err)
	}
	if _, err := policy.ParseRules(json.RawMessage("["+many+many[:len(many)-1]+"]"), "p"); err == nil {
		t.Error("more rules than the limit are accepted")
	}
}
