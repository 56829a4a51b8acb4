package expr

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Decode reads one JSON value as nil, bool, int64, float64, string, []any or map[string]any. A number without fraction
// and exponent is an integer and must fit 64 bit; any other must be finite as a float. Of equal keys the last counts.
func Decode(raw []byte) (any, error) { return decode(raw, nil) }

func decode(raw []byte, a *Account) (any, error) {
	d := a.decoder(raw)
	v, err := d.whole()
	a.settle(&d)
	return v, err
}

// whole reads what must be one value.
func (d *decoder) whole() (any, error) {
	v, err := d.value(0)
	if err != nil {
		return nil, fmt.Errorf("decode JSON at byte %d: %w", d.i, err)
	}
	if d.space(); d.i != len(d.b) {
		return nil, fmt.Errorf("decode JSON at byte %d: more than one value", d.i)
	}
	return v, nil
}

// maxNesting bounds the recursion of the decoder.
const maxNesting = 10_000

var (
	errEnd    = errors.New("unexpected end")
	errSyntax = errors.New("unexpected character")
	errDeep   = errors.New("nested too deeply")
)

type decoder struct {
	b    []byte
	i    int
	left int // steps
}

func (d *decoder) space() {
	for d.i < len(d.b) {
		switch d.b[d.i] {
		case ' ', '\t', '\n', '\r':
			d.i++
		default:
			return
		}
	}
}

func (d *decoder) value(depth int) (any, error) {
	if d.left -= valueSteps; d.left < 0 {
		return nil, errSpent
	}
	d.space()
	if d.i >= len(d.b) {
		return nil, errEnd
	}
	if depth > maxNesting {
		return nil, errDeep
	}
	switch c := d.b[d.i]; c {
	case '{':
		return d.object(depth)
	case '[':
		return d.list(depth)
	case '"':
		return d.str()
	case 't':
		return true, d.word("true")
	case 'f':
		return false, d.word("false")
	case 'n':
		return nil, d.word("null")
	default:
		return d.number()
	}
}

func (d *decoder) word(w string) error {
	if !strings.HasPrefix(string(d.b[d.i:min(d.i+len(w), len(d.b))]), w) {
		return errSyntax
	}
	d.i += len(w)
	return nil
}

// next skips space and takes one character.
func (d *decoder) next() (byte, error) {
	d.space()
	if d.i >= len(d.b) {
		return 0, errEnd
	}
	d.i++
	return d.b[d.i-1], nil
}

func (d *decoder) list(depth int) (any, error) {
	d.i++
	out := []any{}
	if d.space(); d.i < len(d.b) && d.b[d.i] == ']' {
		d.i++
		return out, nil
	}
	for {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		c, err := d.next()
		if err != nil || c == ']' {
			return out, err
		}
		if c != ',' {
			return nil, errSyntax
		}
	}
}

func (d *decoder) object(depth int) (any, error) {
	out := map[string]any{}
	d.left -= objectSteps
	err := d.members(func(key string) (err error) {
		d.left -= memberSteps
		out[key], err = d.value(depth + 1)
		return err
	})
	return out, err
}

// members reads an object, the cursor before or on its opening brace, calling take on each value.
func (d *decoder) members(take func(key string) error) error {
	if c, err := d.next(); err != nil || c != '{' {
		return errSyntax
	}
	if d.space(); d.i < len(d.b) && d.b[d.i] == '}' {
		d.i++
		return nil
	}
	for {
		if err := d.member(take); err != nil {
			return err
		}
		c, err := d.next()
		if err != nil || c == '}' {
			return err
		}
		if c != ',' {
			return errSyntax
		}
	}
}

func (d *decoder) member(take func(key string) error) error {
	if d.space(); d.i >= len(d.b) || d.b[d.i] != '"' {
		return errSyntax
	}
	key, err := d.str()
	if err != nil {
		return err
	}
	if c, err := d.next(); err != nil || c != ':' {
		return errSyntax
	}
	return take(key)
}

// str reads a string; the cursor is on its opening quote.
func (d *decoder) str() (string, error) {
	start, escaped := d.i, false
	for i := d.i + 1; i < len(d.b); i++ {
		switch c := d.b[i]; {
		case c == '"':
			d.i = i + 1
			if escaped {
				d.left -= (d.i - start) / escapedBytes
			}
			return unquote(d.b[start:d.i], escaped)
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			d.i = i
			return "", errSyntax
		}
	}
	return "", errEnd
}

func unquote(quoted []byte, escaped bool) (string, error) {
	if !escaped && utf8.Valid(quoted) {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return "", errSyntax
	}
	return s, nil
}

func (d *decoder) number() (any, error) {
	start := d.i
	for d.i < len(d.b) && strings.IndexByte("+-.eE0123456789", d.b[d.i]) >= 0 {
		d.i++
	}
	v, err := ParseNumber(string(d.b[start:d.i]))
	if err != nil {
		d.i = start
	}
	return v, err
}

// ParseNumber reads a JSON number as int64 or float64.
func ParseNumber(s string) (any, error) {
	integer, ok := numberShape(s)
	switch {
	case !ok:
		return nil, errSyntax
	case integer:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("integer %s is outside the exact 64-bit range", s)
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("number %s is not finite", s)
	}
	return f, nil
}

// numberShape checks the JSON grammar of a number and tells integers.
func numberShape(s string) (integer, ok bool) {
	s = strings.TrimPrefix(s, "-")
	whole, rest := digits(s)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false, false
	}
	integer = rest == ""
	if strings.HasPrefix(rest, ".") {
		var frac string
		if frac, rest = digits(rest[1:]); frac == "" {
			return false, false
		}
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		var exp string
		if exp, rest = digits(rest); exp == "" {
			return false, false
		}
	}
	return integer, rest == ""
}

func digits(s string) (head, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}
