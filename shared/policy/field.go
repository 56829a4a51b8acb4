package policy

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// field is one field of a policy: how it is read, where it is, and how it is recorded. What a field is of its sort
// comes from its constructor.
type field struct {
	name   string
	timed  bool           // a duration: also as NAME_ms, an integer
	schema map[string]any // of its value
	read   func(r *decoder, to *Policy, at string, v any, ms bool)
	copy   func(to, from *Policy)
	same   func(a, b *Policy) bool
	append func(b []byte, p *Policy) []byte                    // its recorded value, without the tag
	parse  func(p *Policy, b []byte) (rest []byte, whole bool) // what append wrote; whole: it is no other
}

// number is a field that is recorded as a number from 0 to most.
func number[T ~int | ~int64 | ~uint8](name string, most T, of func(*Policy) *T) field {
	return field{
		name: name,
		copy: func(to, from *Policy) { *of(to) = *of(from) },
		same: func(a, b *Policy) bool { return *of(a) == *of(b) },
		append: func(b []byte, p *Policy) []byte {
			return binary.AppendUvarint(b, uint64(*of(p)))
		},
		parse: func(p *Policy, b []byte) ([]byte, bool) {
			v, n := binary.Uvarint(b)
			if n <= 0 || v > uint64(most) {
				return nil, false
			}
			*of(p) = T(v)
			return b[n:], true
		},
	}
}

// count is a field that is a number of attempts.
func count(name string, of func(*Policy) *int) field {
	f := number(name, math.MaxInt, of)
	f.schema = reference("count")
	f.read = func(r *decoder, to *Policy, at string, v any, _ bool) { *of(to) = r.count(at, v) }
	return f
}

// choice is a field that is one of some values; the name of value i is names[i].
func choice[T ~uint8](name string, of func(*Policy) *T, names []string) field {
	f := number(name, T(len(names)-1), of)
	f.schema = map[string]any{"enum": names}
	f.read = func(r *decoder, to *Policy, at string, v any, _ bool) {
		s, _ := v.(string)
		i := slices.Index(names, s)
		if i < 0 {
			r.fail(at, show(v)+" is not supported by this version", knownText(v, strings.Join(slices.Sorted(slices.Values(names)), ", ")))
			return
		}
		*of(to) = T(i)
	}
	return f
}

// duration is a field that is a text or, with the suffix _ms, an integer.
func duration(name string, least time.Duration, of func(*Policy) *time.Duration) field {
	f := number(name, math.MaxInt64, of)
	f.timed, f.schema = true, reference("duration")
	f.read = func(r *decoder, to *Policy, at string, v any, ms bool) {
		d, err := DurationOf(v, ms)
		if err == nil && (d < least || d > MaxDuration) {
			err = fmt.Errorf("must be from %s to %s", least, Longest)
		}
		if err != nil {
			r.fail(at, err.Error(), "")
		}
		*of(to) = d
	}
	return f
}

// queueName is a field that names a queue. It is recorded as its length and its bytes.
func queueName(name string, of func(*Policy) *string) field {
	return field{
		name:   name,
		schema: reference("queue"),
		read:   func(r *decoder, to *Policy, at string, v any, _ bool) { *of(to) = r.queue(at, v) },
		copy:   func(to, from *Policy) { *of(to) = *of(from) },
		same:   func(a, b *Policy) bool { return *of(a) == *of(b) },
		append: func(b []byte, p *Policy) []byte {
			return append(binary.AppendUvarint(b, uint64(len(*of(p)))), *of(p)...)
		},
		parse: func(p *Policy, b []byte) ([]byte, bool) {
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return nil, false
			}
			*of(p) = string(b[n : n+int(size)])
			return b[n+int(size):], true
		},
	}
}

// reference is the JSON Schema that the $defs of the schema of definitions have under a name.
func reference(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }
