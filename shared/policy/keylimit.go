package policy

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/heddle-run/heddle/shared/expr"
)

// KeyLimit bounds the attempts of all workflows that have one key. The zero value bounds nothing.
type KeyLimit struct {
	Key   string        // the expression of the key, which sees SeesStep and gives a text; empty = no limit
	Limit int           // attempts at a time, or in a time
	Per   time.Duration // that time, of whole milliseconds; 0 = attempts at a time
}

// Limits of a limit by key.
const (
	MaxKeyLimit = 100_000
	MaxPer      = 24 * time.Hour
)

// keyForm is what a limit by key is written with.
type keyForm struct {
	fields  []string // in the order in which they are named
	rate    bool     // has per, or per_ms
	example string
}

var (
	atATime = keyForm{fields: []string{"key", "limit"}, example: `write {key: "'api'", limit: 10}; ` + fixedKey}
	inATime = keyForm{fields: []string{"key", "limit", "per"}, rate: true, example: `write {key: "'api'", limit: 10, per: 1s}; ` + fixedKey}
)

const fixedKey = "the key is an expression, a fixed one stands in quotes of its own"

// schema is the JSON Schema of a value.
func (f keyForm) schema() map[string]any {
	properties := map[string]any{
		"key":   reference("expression"),
		"limit": map[string]any{"type": "integer", "minimum": 1, "maximum": MaxKeyLimit},
	}
	all := map[string]any{"type": "object", "additionalProperties": false, "required": []any{"key", "limit"}, "properties": properties}
	if f.rate {
		properties["per"], properties["per_ms"] = reference("duration"), reference("milliseconds")
		all["oneOf"] = []any{map[string]any{"required": []any{"per"}}, map[string]any{"required": []any{"per_ms"}}}
	}
	return all
}

// keyLimit is a field that is an object of a key and a limit.
func keyLimit(name string, form keyForm, of func(*Policy) *KeyLimit) field {
	return field{
		name:   name,
		schema: form.schema(),
		copy:   func(to, from *Policy) { *of(to) = *of(from) },
		same:   func(a, b *Policy) bool { return *of(a) == *of(b) },
		read:   func(r *decoder, to *Policy, at string, v any, _ bool) { *of(to) = r.keyLimit(at, v, form) },
		append: func(b []byte, p *Policy) []byte {
			l := of(p)
			b = append(binary.AppendUvarint(b, uint64(len(l.Key))), l.Key...)
			b = binary.AppendUvarint(b, uint64(l.Limit))
			if form.rate {
				b = binary.AppendUvarint(b, uint64(l.Per.Milliseconds()))
			}
			return b
		},
		parse: func(p *Policy, b []byte) ([]byte, bool) {
			l := of(p)
			key, rest, whole := parseText(b)
			limit, n := binary.Uvarint(rest)
			if !whole || n <= 0 || limit > math.MaxInt32 {
				return nil, false
			}
			l.Key, l.Limit, rest = key, int(limit), rest[n:]
			if !form.rate {
				return rest, true
			}
			ms, n := binary.Uvarint(rest)
			if n <= 0 || ms > math.MaxInt64/uint64(time.Millisecond) {
				return nil, false
			}
			l.Per = time.Duration(ms) * time.Millisecond
			return rest[n:], true
		},
	}
}

func (p *decoder) keyLimit(at string, v any, form keyForm) (l KeyLimit) {
	object, ok := v.(map[string]any)
	if !ok {
		p.fail(at, "must be an object of "+and(form.fields), form.example)
		return l
	}
	for _, name := range sorted(object) {
		known := strings.TrimSuffix(name, "_ms")
		switch {
		case name == "key":
			program := p.program(at+".key", object[name], func(src string) (*expr.Program, error) { return Compile(SeesStep, src) })
			if program == nil {
				p.advise(fixedKey)
				break
			}
			l.Key = program.Source()
		case name == "limit":
			l.Limit = p.keyCount(at+".limit", object[name])
		case known == "per" && form.rate:
			l.Per = p.per(at+"."+name, object[name], name != known)
		default:
			p.fail(at+"."+name, "unknown field", Known(name, strings.Join(form.fields, ", ")))
		}
	}
	p.present(at, object, form.fields, "per", form.example)
	return l
}

// present refuses an object that lacks a field, or has the one that is a time twice, with and without _ms.
func (p *decoder) present(at string, object map[string]any, fields []string, timed, example string) {
	for _, name := range fields {
		_, has := object[name]
		_, hasMs := object[name+"_ms"]
		switch {
		case !has && !(hasMs && name == timed):
			p.fail(at+"."+name, "missing", example)
		case has && hasMs && name == timed:
			p.fail(at+"."+name+"_ms", "there is "+name+" already", "give one of them")
		}
	}
}

// and names several in a sentence.
func and(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func (p *decoder) keyCount(at string, v any) int {
	n, whole := expr.Integer(v)
	if !whole || n < 1 || n > MaxKeyLimit {
		p.fail(at, fmt.Sprintf("must be an integer from 1 to %d", MaxKeyLimit), "")
		return 0
	}
	return int(n)
}

func (p *decoder) per(at string, v any, ms bool) time.Duration {
	d, err := DurationOf(v, ms)
	if err == nil && (d < time.Millisecond || d > MaxPer || d%time.Millisecond != 0) {
		err = fmt.Errorf("must be whole milliseconds from 1ms to %dh", MaxPer/time.Hour)
	}
	if err != nil {
		p.fail(at, err.Error(), "")
	}
	return d
}
