package workload

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-run/heddle/shared/policy"
)

// io is the preset that plans use.
var io = fields{"max_retries": 2, "backoff": "linear", "base_delay_ms": 500, "timeout_ms": 10_000, "on_failure": "skip"}

// whole are the fields with those of their preset.
func (f fields) whole() fields {
	if f["preset"] == nil {
		return f
	}
	out := f.with(io)
	delete(out, "preset")
	return out
}

// resolve are the fields that a component may come to: several where a rule looks
// at the input. It is told apart from package policy, which it is held against.
func resolve(c *Component, lists ...Rules) []fields {
	open, ended := []fields{{}}, []fields(nil)
	for _, list := range lists {
		for i := range list {
			r := &list[i]
			v := r.fits(c)
			if v == no {
				continue
			}
			var filled []fields
			for _, f := range open {
				filled = append(filled, f.with(r.fields.whole()))
			}
			if v == yes {
				open = nil
			}
			if r.inherit {
				open = append(open, filled...)
			} else {
				ended = append(ended, filled...)
			}
		}
	}
	return append(ended, open...)
}

// policyOf is the policy that fields give a component. reaction is what a failure
// does where no rule says it.
func policyOf(c *Component, f fields, reaction string) policy.Policy {
	p := policy.Default()
	if !c.tasked() {
		p.Mode = policy.Sync
	}
	p.OnFailure = onFailure[reaction]
	if c.kind == condition {
		p.OnFailure = policy.Skip
	}
	if f["on_failure"] != nil {
		p.OnFailure = onFailure[f["on_failure"].(string)]
	}
	if !c.tasked() {
		return p
	}
	integer(f, "max_retries", &p.MaxRetries)
	integer(f, "max_lost", &p.MaxLost)
	milliseconds(f, "base_delay_ms", &p.BaseDelay)
	milliseconds(f, "max_delay_ms", &p.MaxDelay)
	milliseconds(f, "timeout_ms", &p.Timeout)
	milliseconds(f, "start_timeout_ms", &p.StartTimeout)
	milliseconds(f, "deadline_ms", &p.Deadline)
	milliseconds(f, "heartbeat_timeout_ms", &p.HeartbeatTimeout)
	choice(f, "backoff", &p.Backoff, map[string]policy.Backoff{
		"none": policy.None, "linear": policy.Linear, "exponential": policy.Exponential, "jitter": policy.Jitter,
	})
	lost(f, &p)
	choice(f, "execution_mode", &p.Mode, map[string]policy.Mode{"durable": policy.Durable, "async": policy.Async, "external": policy.External})
	choice(f, "priority", &p.Priority, map[string]policy.Priority{"low": policy.Low, "high": policy.High, "critical": policy.Critical})
	if f["retry_if"] != nil {
		p.RetryIf = f["retry_if"].(string)
	}
	if f["non_retryable"] != nil {
		var types []string
		for _, one := range f["non_retryable"].([]any) {
			types = append(types, one.(string))
		}
		p.NonRetryable = strings.Join(types, "\n")
	}
	if l, is := f["concurrency"].(map[string]any); is {
		p.Concurrency = policy.KeyLimit{Key: l["key"].(string), Limit: l["limit"].(int)}
	}
	if l, is := f["rate_limit"].(map[string]any); is {
		p.Rate = policy.KeyLimit{Key: l["key"].(string), Limit: l["limit"].(int), Per: time.Duration(l["per_ms"].(int)) * time.Millisecond}
	}
	if b, is := f["circuit_breaker"].(map[string]any); is {
		p.Breaker = policy.Breaker{Name: b["name"].(string), Threshold: b["failure_threshold"].(int), Reset: time.Duration(b["reset_timeout_ms"].(int)) * time.Millisecond}
		if b["on_open"] == "fail" {
			p.Breaker.OnOpen = policy.FailOpen
		}
	}
	if f["idempotency_key"] != nil {
		p.IdempotencyKey = f["idempotency_key"].(string)
	}
	if f["queue"] != nil {
		p.Queue = f["queue"].(string)
	}
	if f["fallback"] != nil {
		text, err := json.Marshal(f["fallback"])
		if err != nil {
			panic(err)
		}
		p.Fallback = string(text)
	}
	return p
}

// lost are the fields about an attempt whose worker has vanished.
func lost(f fields, p *policy.Policy) {
	probe, probes := f["on_lost"].(map[string]any)
	if !probes {
		choice(f, "on_lost", &p.OnLost, map[string]policy.OnLost{"retry": policy.RetryLost, "fail": policy.FailLost, "hold": policy.HoldLost})
		return
	}
	p.OnLost = policy.ProbeLost
	p.Probe.Task = probe["probe"].(string)
	p.Probe.Queue, _ = probe["queue"].(string)
}

var onFailure = map[string]policy.OnFailure{"": policy.Halt, "halt": policy.Halt, "skip": policy.Skip}

func integer(f fields, name string, to *int) {
	if f[name] != nil {
		*to = f[name].(int)
	}
}

func milliseconds(f fields, name string, to *time.Duration) {
	if f[name] != nil {
		*to = time.Duration(f[name].(int)) * time.Millisecond
	}
}

func choice[T any](f fields, name string, to *T, of map[string]T) {
	if f[name] != nil {
		*to = of[f[name].(string)]
	}
}

func (k kind) String() string {
	switch k {
	case step:
		return policy.KindStep.String()
	case pure:
		return policy.KindExpr.String()
	case condition:
		return policy.KindCondition.String()
	case sleep:
		return policy.KindSleep.String()
	case folded:
		return policy.KindReduce.String()
	case mapping:
		return policy.KindMap.String()
	}
	panic(fmt.Sprintf("no kind of component: %d", int(k)))
}
