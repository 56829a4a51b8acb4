package policy

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/heddle-run/heddle/shared/expr"
)

// KeyLimit bounds the attempts of all workflows that have one key. The zero value bounds nothing.
type KeyLimit struct {
	Key   string // the expression of the key, which sees SeesStep and gives a text; empty = no limit
	Limit int    // attempts at a time
}

// MaxKeyLimit is the highest limit of a key.
const MaxKeyLimit = 100_000

const writeKeyLimit = `write {key: "'api'", limit: 10}; the key is an expression, a fixed one stands in quotes of its own`

// keyLimit is a field that is an object of a key and a limit.
func keyLimit(name string, of func(*Policy) *KeyLimit) field {
	return field{
		name: name,
		schema: map[string]any{
			"type": "object", "additionalProperties": false, "required": []any{"key", "limit"},
			"properties": map[string]any{
				"key":   reference("expression"),
				"limit": map[string]any{"type": "integer", "minimum": 1, "maximum": MaxKeyLimit},
			},
		},
		copy: func(to, from *Policy) { *of(to) = *of(from) },
		same: func(a, b *Policy) bool { return *of(a) == *of(b) },
		read: func(r *decoder, to *Policy, at string, v any, _ bool) { *of(to) = r.keyLimit(at, v) },
		append: func(b []byte, p *Policy) []byte {
			l := of(p)
			b = append(binary.AppendUvarint(b, uint64(len(l.Key))), l.Key...)
			return binary.AppendUvarint(b, uint64(l.Limit))
		},
		parse: func(p *Policy, b []byte) ([]byte, bool) {
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return nil, false
			}
			l, rest := of(p), b[n+int(size):]
			l.Key = string(b[n : n+int(size)])
			limit, m := binary.Uvarint(rest)
			if m <= 0 || limit > math.MaxInt32 {
				return nil, false
			}
			l.Limit = int(limit)
			return rest[m:], true
		},
	}
}

func (p *decoder) keyLimit(at string, v any) (l KeyLimit) {
	object, ok := v.(map[string]any)
	if !ok {
		p.fail(at, "must be an object of key and limit", writeKeyLimit)
		return l
	}
	for _, name := range sorted(object) {
		switch name {
		case "key":
			if program := p.program(at+".key", object[name], func(src string) (*expr.Program, error) { return Compile(SeesStep, src) }); program != nil {
				l.Key = program.Source()
			}
		case "limit":
			n, whole := expr.Integer(object[name])
			if !whole || n < 1 || n > MaxKeyLimit {
				p.fail(at+".limit", fmt.Sprintf("must be an integer from 1 to %d", MaxKeyLimit), "")
				continue
			}
			l.Limit = int(n)
		default:
			p.fail(at+"."+name, "unknown field", Known(name, "key, limit"))
		}
	}
	for _, name := range []string{"key", "limit"} {
		if _, has := object[name]; !has {
			p.fail(at+"."+name, "missing", writeKeyLimit)
		}
	}
	return l
}
