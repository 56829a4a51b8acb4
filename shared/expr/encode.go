package expr

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

var errTooLarge = errors.New("the result is too large")

// Append adds the canonical JSON of a value to dst: keys sorted, no spaces, text unescaped where JSON allows it. Integral
// floats that a float holds exactly print as integers (1.0 is 1); larger ones keep an exponent, so that they stay floats
// when they are read again. Times print as RFC 3339 in UTC, durations as Go prints them. It fails for what is larger
// than MaxBytes or nested deeper than MaxDepth.
func Append(dst []byte, v any) ([]byte, error) { return appendLimited(dst, v, MaxBytes) }

// Append is Append within the steps of an account.
func (a *Account) Append(dst []byte, v any) ([]byte, error) {
	e := encoder{b: dst, limit: len(dst) + MaxBytes, left: a.most(math.MaxInt)}
	err := e.value(v, 0)
	a.Take(a.most(math.MaxInt) - e.left)
	a.TakeText(len(e.b) - len(dst))
	return e.b, err
}

func appendLimited(dst []byte, v any, limit int) ([]byte, error) {
	e := encoder{b: dst, limit: len(dst) + limit, left: math.MaxInt}
	err := e.value(v, 0)
	return e.b, err
}

type encoder struct {
	b     []byte
	limit int // length of b that must not be exceeded
	left  int // steps: one for each value
}

func (e *encoder) value(v any, depth int) error {
	if len(e.b) > e.limit {
		return errTooLarge
	}
	if e.left--; e.left < 0 {
		return errSpent
	}
	if depth > MaxDepth {
		return fmt.Errorf("the result is nested deeper than %d", MaxDepth)
	}
	switch v := v.(type) {
	case nil:
		e.b = append(e.b, "null"...)
	case bool:
		e.b = strconv.AppendBool(e.b, v)
	case int64:
		e.b = strconv.AppendInt(e.b, v, 10)
	case float64:
		e.b = appendFloat(e.b, v)
	case string:
		e.b = appendString(e.b, v)
	case time.Time:
		e.b = append(v.UTC().AppendFormat(append(e.b, '"'), time.RFC3339Nano), '"')
	case time.Duration:
		e.b = appendString(e.b, v.String())
	case skipped: // seen only in errors
		e.b = append(e.b, "…"...)
	case []any:
		return e.list(v, depth)
	case map[string]any:
		return e.object(v, depth)
	default:
		return fmt.Errorf("a %T is no JSON value", v)
	}
	return nil
}

func (e *encoder) list(list []any, depth int) error {
	if len(e.b)+2*len(list) > e.limit+1 { // it cannot come to less
		return errTooLarge
	}
	e.b = append(e.b, '[')
	for i, v := range list {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		if err := e.value(v, depth+1); err != nil {
			return err
		}
	}
	e.b = append(e.b, ']')
	return nil
}

func (e *encoder) object(object map[string]any, depth int) error {
	if len(e.b)+5*len(object) > e.limit+1 {
		return errTooLarge
	}
	e.left -= walkSteps(len(object))
	e.b = append(e.b, '{')
	for i, k := range sortedKeys(object) {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b = append(appendString(e.b, k), ':')
		if err := e.value(object[k], depth+1); err != nil {
			return err
		}
	}
	e.b = append(e.b, '}')
	return nil
}

// sortedKeys are the keys of an object in the order in which everything walks it.
func sortedKeys(object map[string]any) []string {
	return slices.Sorted(maps.Keys(object))
}

const maxExactFloat = 1 << 53 // integers up to here are exact in a float64

func appendFloat(b []byte, f float64) []byte {
	abs := math.Abs(f)
	switch {
	case f == math.Trunc(f) && abs <= maxExactFloat:
		return strconv.AppendInt(b, int64(f), 10)
	case abs < 1e-6 || abs > maxExactFloat:
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

const hexDigits = "0123456789abcdef"

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c < ' ' || c == '"' || c == '\\' {
			b = appendEscape(append(b, s[start:i]...), c)
			start = i + 1
		}
		i++
	}
	return append(append(b, s[start:]...), '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
