package policy

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/shared/expr"
)

// field is one field of a policy: how it is read, where it is, and how it is recorded. What a field is of its sort
// comes from its constructor.
type field struct {
	name   string
	timed  bool           // a duration: also as NAME_ms, an integer
	schema map[string]any // of its value
	inMs   map[string]any // of its value where it is timed, in milliseconds
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

// count is a field that is a number of attempts, or Unbounded.
func count(name string, of func(*Policy) *int) field {
	f := number(name, Unbounded, of)
	f.schema = map[string]any{"anyOf": []any{reference("count"), map[string]any{"const": infinity}}}
	f.read = func(r *decoder, to *Policy, at string, v any, _ bool) {
		if v == infinity {
			*of(to) = Unbounded
			return
		}
		*of(to) = r.count(at, v)
	}
	return f
}

// choice is a field that is one of some values; the name of value i is names[i].
func choice[T ~uint8](name string, of func(*Policy) *T, names []string) field {
	f := number(name, T(len(names)-1), of)
	f.schema = map[string]any{"enum": names}
	f.read = func(r *decoder, to *Policy, at string, v any, _ bool) { *of(to) = oneOf[T](r, at, v, names) }
	return f
}

// oneOf reads the name of one of some values; the name of value i is names[i].
func oneOf[T ~uint8](r *decoder, at string, v any, names []string) (is T) {
	s, _ := v.(string)
	i := slices.Index(names, s)
	if i < 0 {
		r.fail(at, show(v)+" is not supported by this version", knownText(v, strings.Join(slices.Sorted(slices.Values(names)), ", ")))
		return is
	}
	return T(i)
}

// duration is a field that is a text or, with the suffix _ms, an integer.
func duration(name string, least time.Duration, of func(*Policy) *time.Duration) field {
	f := number(name, math.MaxInt64, of)
	f.timed, f.schema, f.inMs = true, reference("duration"), reference("milliseconds")
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

// text is a field that is recorded as the length and the bytes of a text. It has neither a schema nor a reader.
func text(name string, of func(*Policy) *string) field {
	return field{
		name: name,
		copy: func(to, from *Policy) { *of(to) = *of(from) },
		same: func(a, b *Policy) bool { return *of(a) == *of(b) },
		append: func(b []byte, p *Policy) []byte {
			return append(binary.AppendUvarint(b, uint64(len(*of(p)))), *of(p)...)
		},
		parse: func(p *Policy, b []byte) ([]byte, bool) {
			s, rest, whole := parseText(b)
			if whole {
				*of(p) = s
			}
			return rest, whole
		},
	}
}

// parseText reads the length and the bytes of a text.
func parseText(b []byte) (s string, rest []byte, whole bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return "", nil, false
	}
	return string(b[n : n+int(size)]), b[n+int(size):], true
}

// queueName is a field that names a queue.
func queueName(name string, of func(*Policy) *string) field {
	f := text(name, of)
	f.schema = reference("queue")
	f.read = func(r *decoder, to *Policy, at string, v any, _ bool) { *of(to) = r.queue(at, v) }
	return f
}

// expression is a field that is the text of an expression, which is compiled as one that sees what sees says. Whoever
// evaluates it compiles the text again (Compile), and keeps the program by its text.
func expression(name string, sees Sight, of func(*Policy) *string) field {
	f := text(name, of)
	f.schema = reference("expression")
	f.read = func(r *decoder, to *Policy, at string, v any, _ bool) {
		if p := r.program(at, v, func(src string) (*expr.Program, error) { return Compile(sees, src) }); p != nil {
			*of(to) = p.Source()
		}
	}
	return f
}

// Bounds of a list of types of errors. A type is no longer than an attempt may give.
const (
	maxErrorTypes = 100
	maxErrorType  = 256 // bytes
	typesApart    = "\n"
)

// errorTypes is a field that lists types of errors.
func errorTypes(name string, of func(*Policy) *string) field {
	f := text(name, of)
	f.schema = map[string]any{
		"type": "array", "minItems": 1, "maxItems": maxErrorTypes, "uniqueItems": true,
		"items": map[string]any{"type": "string", "minLength": 1, "maxLength": maxErrorType, "pattern": "^[^\n]+$"},
	}
	f.read = func(r *decoder, to *Policy, at string, v any, _ bool) {
		list, ok := v.([]any)
		if !ok || len(list) == 0 || len(list) > maxErrorTypes {
			r.fail(at, fmt.Sprintf("must be a list of 1 to %d types of errors", maxErrorTypes), "write [card_declined, …]")
			return
		}
		types := make([]string, 0, len(list))
		for i, item := range list {
			s, _ := item.(string)
			if s == "" || len(s) > maxErrorType || strings.Contains(s, typesApart) {
				r.fail(fmt.Sprintf("%s[%d]", at, i), fmt.Sprintf("must be the type of an error: one line of at most %d bytes", maxErrorType), "")
				return
			}
			types = append(types, s)
		}
		*of(to) = strings.Join(types, typesApart)
	}
	return f
}

// optional is a field that may be none, which lifts what a later rule or a preset says: it is then as if nobody had
// given it.
func optional(f field) field {
	read := f.read
	f.read = func(r *decoder, to *Policy, at string, v any, ms bool) {
		if v == none || v == infinity {
			f.copy(to, &defaults)
			return
		}
		before := len(r.errs)
		read(r, to, at, v, ms)
		for i := before; i < len(r.errs) && f.timed; i++ {
			r.errs[i].Fix = "none is no limit"
		}
	}
	f.schema = orNone(f.schema)
	if f.timed {
		f.inMs = orNone(f.inMs)
	}
	return f
}

// What lifts a limit: the words of Heddle, and of those who say that it lies in infinity.
const (
	none     = "none"
	infinity = "infinity"
)

func orNone(schema map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{schema, reference(none)}}
}

// reference is the JSON Schema that the $defs of the schema of definitions have under a name.
func reference(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }
