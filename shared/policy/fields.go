package policy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/shared/expr"
)

// Limits of fields.
const (
	MaxAttempts = 1_000_000
	MaxDuration = 10 * 365 * 24 * time.Hour
)

// later are fields of the design that this version does not enforce.
var later = map[string]bool{
	"heartbeat_timeout": true, "deadline": true, "retry_if": true, "non_retryable": true, "fallback": true,
	"concurrency": true, "rate_limit": true, "circuit_breaker": true, "idempotency_key": true, "executor": true,
}

const knownFields = "backoff, base_delay, execution_mode, inherit, max_delay, max_lost, max_retries, on_failure, on_lost, preset, priority, " +
	"queue, start_timeout, timeout"

var (
	backoffs   = map[string]Backoff{"none": None, "linear": Linear, "exponential": Exponential, "jitter": Jitter}
	onFailures = map[string]OnFailure{"halt": Halt, "skip": Skip}
	onLosts    = map[string]OnLost{"retry": RetryLost, "fail": FailLost}
	priorities = map[string]Priority{"low": Low, "normal": Normal, "high": High, "critical": Critical}
	modes      = map[string]Mode{"durable": Durable, "async": Async, "external": External, "sync": Sync}
)

// field reads one field of a policy.
func (p *reader) field(f *fields, name, at string, v any) {
	to := &f.values
	bit := given(0)
	switch name {
	case "max_retries":
		bit, to.MaxRetries = maxRetries, p.count(at, v)
	case "max_lost":
		bit, to.MaxLost = maxLost, p.count(at, v)
	case "backoff":
		bit, to.Backoff = backoff, choice(p, at, v, backoffs)
	case "on_failure":
		bit, to.OnFailure = onFailure, choice(p, at, v, onFailures)
	case "on_lost":
		bit, to.OnLost = onLost, choice(p, at, v, onLosts)
	case "execution_mode":
		bit, to.Mode = mode, choice(p, at, v, modes)
	case "priority":
		bit, to.Priority = priority, choice(p, at, v, priorities)
	case "queue":
		bit, to.Queue = queue, p.queue(at, v)
	default:
		bit = p.duration(to, name, at, v)
	}
	if f.given&bit != 0 {
		p.fail(at, "given twice, with and without _ms", "keep one")
	}
	f.given |= bit
}

// duration reads one of the fields that are durations, as text or, with the suffix _ms, as an integer.
func (p *reader) duration(to *Policy, name, at string, v any) given {
	base, ms := strings.CutSuffix(name, "_ms")
	bit, field, least := given(0), (*time.Duration)(nil), time.Duration(1)
	switch base {
	case "base_delay":
		bit, field, least = baseDelay, &to.BaseDelay, 0
	case "max_delay":
		bit, field, least = maxDelay, &to.MaxDelay, 0
	case "timeout":
		bit, field = timeout, &to.Timeout
	case "start_timeout":
		bit, field = startTimeout, &to.StartTimeout
	default:
		if later[base] {
			p.fail(at, "not supported by this version", "remove it")
		} else {
			p.fail(at, "unknown field", Known(name, knownFields))
		}
		return 0
	}
	d, err := DurationOf(v, ms)
	if err == nil && (d < least || d > MaxDuration) {
		err = fmt.Errorf("must be from %s to %s", least, MaxDuration)
	}
	if err != nil {
		p.fail(at, err.Error(), "")
	}
	*field = d
	return bit
}

// DurationOf reads a duration of a definition: a text such as "30s" or "PT30S", or for a field whose name ends in _ms
// an integer.
func DurationOf(v any, ms bool) (time.Duration, error) {
	if !ms {
		s, ok := v.(string)
		if !ok {
			return 0, fmt.Errorf("must be a duration such as 30s or PT30S; an integer of milliseconds goes in a field that ends in _ms")
		}
		return expr.ParseDuration(s)
	}
	n, ok := expr.Integer(v)
	if !ok || n > math.MaxInt64/int64(time.Millisecond) || n < math.MinInt64/int64(time.Millisecond) {
		return 0, fmt.Errorf("must be an integer of milliseconds")
	}
	return time.Duration(n) * time.Millisecond, nil
}

func (p *reader) count(at string, v any) int {
	n, ok := expr.Integer(v)
	if !ok || n < 0 || n > MaxAttempts {
		p.fail(at, fmt.Sprintf("must be an integer from 0 to %d", MaxAttempts), "")
		return 0
	}
	return int(n)
}

func (p *reader) boolean(at string, v any) bool {
	b, ok := v.(bool)
	if !ok {
		p.fail(at, "must be true or false", "")
	}
	return b
}

func (p *reader) queue(at string, v any) string {
	s, _ := v.(string)
	if err := CheckQueue(s); err != nil {
		p.fail(at, err.Error(), "")
	}
	return s
}

// MaxQueue is the longest name of a queue, in bytes: with a topic prefix it fits a topic name.
const MaxQueue = 100

// CheckQueue refuses what cannot be the name of a queue, which is part of a topic's name: 1 to 100 letters, digits,
// dashes and underscores, beginning with a letter or digit.
func CheckQueue(s string) error {
	ok := s != "" && len(s) <= MaxQueue && s[0] != '-' && s[0] != '_'
	for i := range len(s) {
		c := s[i]
		ok = ok && ('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-')
	}
	if !ok {
		return fmt.Errorf("queue name %q: want 1 to %d of A-Za-z0-9_-, beginning with a letter or digit", s, MaxQueue)
	}
	return nil
}

func choice[T any](p *reader, at string, v any, of map[string]T) T {
	s, _ := v.(string)
	t, ok := of[s]
	if !ok {
		p.fail(at, show(v)+" is not supported by this version", knownText(v, names(of)))
	}
	return t
}

func names[T any](of map[string]T) string { return strings.Join(sorted(of), ", ") }

func sorted[T any](of map[string]T) []string { return slices.Sorted(maps.Keys(of)) }

func show(v any) string {
	b, err := expr.Append(nil, v)
	if err != nil || len(b) > 60 {
		return "this value"
	}
	return string(b)
}
