package policy

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// Breaker stops attempts for a time once too many have failed in a row, over all workflows that name it. The zero value
// stops none.
type Breaker struct {
	Name      string        // empty = none
	Threshold int           // failures in a row that open it
	Reset     time.Duration // from then until it lets one attempt try, of whole milliseconds
	OnOpen    OnOpen
}

// OnOpen is what becomes of an attempt whose breaker is open.
type OnOpen uint8

// The reactions to an open breaker. Values are recorded.
const (
	WaitOpen OnOpen = 0 // it waits until the breaker lets it
	FailOpen OnOpen = 1 // it fails at once
)

var onOpenNames = []string{WaitOpen: "wait", FailOpen: "fail"}

const breakerExample = "write {name: api, failure_threshold: 5, reset_timeout: 30s}"

// breakerFields are the fields of a breaker, in the order in which they are named.
var breakerFields = []string{"name", "failure_threshold", "reset_timeout", "on_open"}

// breakerField is a field that is a breaker. It is recorded as the name, the threshold, the milliseconds and on_open.
func breakerField(name string, of func(*Policy) *Breaker) field {
	return field{
		name: name,
		schema: map[string]any{
			"type": "object", "additionalProperties": false, "required": []any{"name", "failure_threshold"},
			"properties": map[string]any{
				"name":              map[string]any{"type": "string", "minLength": 1, "maxLength": events.MaxKeyName},
				"failure_threshold": map[string]any{"type": "integer", "minimum": 1, "maximum": MaxKeyLimit},
				"reset_timeout":     reference("duration"),
				"reset_timeout_ms":  reference("milliseconds"),
				"on_open":           map[string]any{"enum": onOpenNames},
			},
			"oneOf": []any{map[string]any{"required": []any{"reset_timeout"}}, map[string]any{"required": []any{"reset_timeout_ms"}}},
		},
		copy: func(to, from *Policy) { *of(to) = *of(from) },
		same: func(a, b *Policy) bool { return *of(a) == *of(b) },
		read: func(r *decoder, to *Policy, at string, v any, _ bool) { *of(to) = r.breaker(at, v) },
		append: func(b []byte, p *Policy) []byte {
			br := of(p)
			b = append(binary.AppendUvarint(b, uint64(len(br.Name))), br.Name...)
			b = binary.AppendUvarint(b, uint64(br.Threshold))
			b = binary.AppendUvarint(b, uint64(br.Reset.Milliseconds()))
			return binary.AppendUvarint(b, uint64(br.OnOpen))
		},
		parse: func(p *Policy, b []byte) ([]byte, bool) {
			text, rest, whole := parseText(b)
			var n [3]uint64
			for i, most := range [...]uint64{MaxKeyLimit, uint64(MaxPer.Milliseconds()), uint64(FailOpen)} {
				v, size := binary.Uvarint(rest)
				if !whole || size <= 0 || v > most {
					return nil, false
				}
				n[i], rest = v, rest[size:]
			}
			*of(p) = Breaker{Name: text, Threshold: int(n[0]), Reset: time.Duration(n[1]) * time.Millisecond, OnOpen: OnOpen(n[2])}
			return rest, true
		},
	}
}

func (p *decoder) breaker(at string, v any) (b Breaker) {
	object, ok := v.(map[string]any)
	if !ok {
		p.fail(at, "must be an object of "+and(breakerFields), breakerExample)
		return b
	}
	for _, name := range sorted(object) {
		at, v := at+"."+name, object[name]
		switch name {
		case "name":
			b.Name = p.breakerName(at, v)
		case "failure_threshold":
			b.Threshold = p.keyCount(at, v)
		case "reset_timeout", "reset_timeout_ms":
			b.Reset = p.per(at, v, name == "reset_timeout_ms")
		case "on_open":
			b.OnOpen = oneOf[OnOpen](p, at, v, onOpenNames)
		default:
			p.fail(at, "unknown field", Known(name, "failure_threshold, name, on_open, reset_timeout"))
		}
	}
	p.present(at, object, []string{"name", "failure_threshold", "reset_timeout"}, "reset_timeout", breakerExample)
	return b
}

func (p *decoder) breakerName(at string, v any) string {
	s, is := v.(string)
	err := events.CheckKeyName(s)
	if !is || s == "" {
		err = fmt.Errorf("must be the name of a breaker: a text of 1 to %d bytes", events.MaxKeyName)
	}
	if err != nil {
		p.fail(at, err.Error(), "")
	}
	return s
}
