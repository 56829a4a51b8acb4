package policy_test

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/policy"
)

func TestTheDefaultTakesNoBytes(t *testing.T) {
	if b := policy.Default().Append(nil); len(b) != 0 {
		t.Errorf("%x", b)
	}
	if p, err := policy.Parse(nil); err != nil || p != policy.Default() {
		t.Errorf("%+v, %v", p, err)
	}
	if b := policy.DefaultOf(true).Append(nil); len(b) > 2 {
		t.Errorf("%x", b)
	}
}

func TestRecordedPoliciesKeepTheirBytes(t *testing.T) {
	p := policy.Policy{
		MaxRetries: 3, MaxLost: 0, BaseDelay: 0, MaxDelay: time.Second, Timeout: time.Millisecond, StartTimeout: time.Microsecond, Deadline: time.Hour,
		Backoff: policy.Jitter, OnFailure: policy.Skip, OnLost: policy.FailLost, Mode: policy.External, Queue: "q", Priority: policy.Critical,
	}
	want := []byte{1, 3, 2, 0, 3, 0, 4, 0x80, 0x94, 0xeb, 0xdc, 3, 5, 0xc0, 0x84, 0x3d, 6, 0xe8, 7, 7, 3, 8, 1, 9, 1, 10, 2, 11, 1, 'q', 12, 3, 16, 0x80, 0xc0, 0xe2, 0x85, 0xe3, 0x68}
	if got := p.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}
}

func TestRecordedPoliciesAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		duration := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Min(0).Draw(t, "ns")) })
		p := policy.Policy{
			MaxRetries: rapid.IntRange(0, 1<<40).Draw(t, "retries"), MaxLost: rapid.IntRange(0, 1<<40).Draw(t, "lost"),
			BaseDelay: duration.Draw(t, "base"), MaxDelay: duration.Draw(t, "max"),
			Timeout: duration.Draw(t, "timeout"), StartTimeout: duration.Draw(t, "start"), Deadline: duration.Draw(t, "deadline"),
			HeartbeatTimeout: duration.Draw(t, "heartbeat_timeout"),
			Backoff:          policy.Backoff(rapid.IntRange(0, 3).Draw(t, "backoff")), OnFailure: policy.OnFailure(rapid.IntRange(0, 1).Draw(t, "failure")),
			OnLost: policy.OnLost(rapid.IntRange(0, 2).Draw(t, "onlost")), Mode: policy.Mode(rapid.IntRange(0, 3).Draw(t, "mode")),
			Queue: rapid.String().Draw(t, "queue"), Priority: policy.Priority(rapid.IntRange(0, 3).Draw(t, "priority")),
			RetryIf: rapid.String().Draw(t, "retry_if"), NonRetryable: rapid.String().Draw(t, "non_retryable"), Fallback: rapid.String().Draw(t, "fallback"),
			IdempotencyKey: rapid.String().Draw(t, "idempotency_key"), Executor: policy.Executor(rapid.String().Draw(t, "executor")),
		}
		if rapid.Bool().Draw(t, "probes") {
			p.OnLost, p.Probe = policy.ProbeLost, policy.Other{Task: rapid.String().Draw(t, "probe"), Queue: rapid.String().Draw(t, "probe queue")}
		}
		got, err := policy.Parse(p.Append(nil))
		if err != nil || got != p {
			t.Fatalf("%+v became %+v, %v", p, got, err)
		}
	})
}

func TestADamagedPolicyIsAnError(t *testing.T) {
	for _, b := range [][]byte{{1}, {0, 1}, {12, 4}, {13, 1}, {200, 1}, {7, 4}, {8, 2}, {9, 4}, {9, 3}, {9, 3, 1, 'p'}, {15, 2, '{'}, {18, 2, 'k'}, {10, 4}, {11, 2, 'a'}, {1, 0x80},
		{5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}} {
		if p, err := policy.Parse(b); err == nil {
			t.Errorf("% x was read as %+v", b, p)
		}
	}
}
