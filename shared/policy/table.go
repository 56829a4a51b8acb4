package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// given is a set of fields.
type given uint16

const (
	maxRetries given = 1 << iota
	backoff
	baseDelay
	maxDelay
	timeout
	startTimeout
	onFailure
	onLost
	maxLost
	mode
	queue
	priority
)

// field is one field of a policy: how it is read, and where it is.
type field struct {
	name  string
	timed bool // a duration: also as NAME_ms, an integer
	read  func(r *decoder, to *Policy, at string, v any, ms bool)
	copy  func(to, from *Policy)
}

// table has one line per field, in the order of their bits.
var table = [...]field{
	plain("max_retries", func(p *Policy) *int { return &p.MaxRetries }, (*decoder).count),
	plain("backoff", func(p *Policy) *Backoff { return &p.Backoff }, oneOf(backoffs)),
	duration("base_delay", 0, func(p *Policy) *time.Duration { return &p.BaseDelay }),
	duration("max_delay", 0, func(p *Policy) *time.Duration { return &p.MaxDelay }),
	duration("timeout", 1, func(p *Policy) *time.Duration { return &p.Timeout }),
	duration("start_timeout", 1, func(p *Policy) *time.Duration { return &p.StartTimeout }),
	plain("on_failure", func(p *Policy) *OnFailure { return &p.OnFailure }, oneOf(onFailures)),
	plain("on_lost", func(p *Policy) *OnLost { return &p.OnLost }, oneOf(onLosts)),
	plain("max_lost", func(p *Policy) *int { return &p.MaxLost }, (*decoder).count),
	plain("execution_mode", func(p *Policy) *Mode { return &p.Mode }, oneOf(modes)),
	plain("queue", func(p *Policy) *string { return &p.Queue }, (*decoder).queue),
	plain("priority", func(p *Policy) *Priority { return &p.Priority }, oneOf(priorities)),
}

// plain is a field that is read in one way.
func plain[T any](name string, of func(*Policy) *T, read func(*decoder, string, any) T) field {
	return field{
		name: name,
		read: func(r *decoder, to *Policy, at string, v any, _ bool) { *of(to) = read(r, at, v) },
		copy: func(to, from *Policy) { *of(to) = *of(from) },
	}
}

// duration is a field that is a text or, with the suffix _ms, an integer.
func duration(name string, least time.Duration, of func(*Policy) *time.Duration) field {
	return field{
		name:  name,
		timed: true,
		read: func(r *decoder, to *Policy, at string, v any, ms bool) {
			d, err := DurationOf(v, ms)
			if err == nil && (d < least || d > MaxDuration) {
				err = fmt.Errorf("must be from %s to %s", least, MaxDuration)
			}
			if err != nil {
				r.fail(at, err.Error(), "")
			}
			*of(to) = d
		},
		copy: func(to, from *Policy) { *of(to) = *of(from) },
	}
}

// oneOf reads the name of a value.
func oneOf[T any](names map[string]T) func(*decoder, string, any) T {
	return func(r *decoder, at string, v any) T { return choice(r, at, v, names) }
}

// knownFields are all fields of a rule, for errors.
var knownFields = func() string {
	all := []string{"inherit", "preset"}
	for i := range table {
		all = append(all, table[i].name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}()

// Fields are the names of all fields.
func Fields() []string {
	all := make([]string, 0, len(table))
	for i := range table {
		all = append(all, table[i].name)
	}
	return all
}

// field reads one field of a policy.
func (p *decoder) field(f *fields, name, at string, v any) {
	base, ms := strings.CutSuffix(name, "_ms")
	i := slices.IndexFunc(table[:], func(f field) bool { return f.name == name || f.timed && f.name == base })
	if i < 0 {
		if later[base] {
			p.fail(at, "not supported by this version", "remove it")
		} else {
			p.fail(at, "unknown field", Known(name, knownFields))
		}
		return
	}
	table[i].read(p, &f.values, at, v, ms)
	bit := given(1) << i
	if f.given&bit != 0 {
		p.fail(at, "given twice, with and without _ms", "keep one")
	}
	f.given |= bit
}
