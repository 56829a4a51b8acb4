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
	Longest     = "3650d" // MaxDuration as definitions write it

	MinHeartbeatTimeout = time.Second
)

// DurationOf reads a duration of a definition: a text such as "30s" or "PT30S", or for a field whose name ends in _ms
// an integer.
func DurationOf(v any, ms bool) (time.Duration, error) {
	if !ms {
		s, ok := v.(string)
		if !ok {
			return 0, fmt.Errorf("must be a duration with its unit, such as 30s, 500ms or PT30S")
		}
		return expr.ParseDuration(s)
	}
	n, ok := expr.Integer(v)
	if !ok || n > math.MaxInt64/int64(time.Millisecond) || n < math.MinInt64/int64(time.Millisecond) {
		return 0, fmt.Errorf("must be an integer of milliseconds")
	}
	return time.Duration(n) * time.Millisecond, nil
}

func (p *decoder) count(at string, v any) int {
	n, ok := expr.Integer(v)
	if !ok || n < 0 || n > MaxAttempts {
		p.fail(at, fmt.Sprintf("must be an integer from 0 to %d, or infinity", MaxAttempts), "")
		return 0
	}
	return int(n)
}

func (p *decoder) boolean(at string, v any) bool {
	b, ok := v.(bool)
	if !ok {
		p.fail(at, "must be true or false", "")
	}
	return b
}

func (p *decoder) queue(at string, v any) string {
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

func names[T any](of map[string]T) string { return strings.Join(sorted(of), ", ") }

func sorted[T any](of map[string]T) []string { return slices.Sorted(maps.Keys(of)) }

func show(v any) string {
	b, err := expr.Append(nil, v)
	if err != nil || len(b) > 60 {
		return "this value"
	}
	return string(b)
}
