package expr

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
)

var textFunctions = map[string]function{
	"trim":        {[]kinds{stringKind, stringKind}, 1, stringKind, trimming(strings.TrimSpace, strings.Trim)},
	"trimPrefix":  {[]kinds{stringKind, stringKind}, 2, stringKind, trimming(nil, strings.TrimPrefix)},
	"trimSuffix":  {[]kinds{stringKind, stringKind}, 2, stringKind, trimming(nil, strings.TrimSuffix)},
	"upper":       {[]kinds{stringKind}, 1, stringKind, mapping(strings.ToUpper)},
	"lower":       {[]kinds{stringKind}, 1, stringKind, mapping(strings.ToLower)},
	"split":       {[]kinds{stringKind, stringKind, numberKind}, 2, listKind, splitting(strings.SplitN)},
	"splitAfter":  {[]kinds{stringKind, stringKind, numberKind}, 2, listKind, splitting(strings.SplitAfterN)},
	"replace":     {[]kinds{stringKind, stringKind, stringKind, numberKind}, 3, stringKind, runReplace},
	"repeat":      {[]kinds{stringKind, numberKind}, 2, stringKind, runRepeat},
	"join":        {[]kinds{listKind, stringKind}, 1, stringKind, runJoin},
	"indexOf":     {[]kinds{stringKind, stringKind}, 2, intKind, indexing(strings.Index)},
	"lastIndexOf": {[]kinds{stringKind, stringKind}, 2, intKind, indexing(strings.LastIndex)},
	"hasPrefix":   {[]kinds{stringKind, stringKind}, 2, boolKind, affixed(strings.HasPrefix)},
	"hasSuffix":   {[]kinds{stringKind, stringKind}, 2, boolKind, affixed(strings.HasSuffix)},
	"string":      {[]kinds{anyKind}, 1, stringKind, runString},
	"toJSON":      {[]kinds{anyKind}, 1, stringKind, runToJSON},
	"fromJSON":    {[]kinds{stringKind}, 1, anyKind, runFromJSON},
	"toBase64":    {[]kinds{stringKind}, 1, stringKind, runToBase64},
	"fromBase64":  {[]kinds{stringKind}, 1, stringKind, runFromBase64},
	"host":        {[]kinds{stringKind}, 1, stringKind, runHost},
}

// made counts a text that a function made.
func (m *machine) made(n ast.Node, s string) (any, error) {
	if err := m.grow(n, len(s)); err != nil {
		return nil, err
	}
	return s, nil
}

func trimming(plain func(string) string, cut func(string, string) string) func(*machine, ast.Node, []any) (any, error) {
	return func(m *machine, n ast.Node, args []any) (any, error) {
		s := args[0].(string)
		if len(args) == 1 {
			return plain(s), m.characters(n, s)
		}
		by := args[1].(string) // a set may be looked through for each character
		if err := m.step(n, len(s)/characterBytes*(1+len(by)/scanBytes)); err != nil {
			return nil, err
		}
		return cut(s, by), nil
	}
}

func mapping(f func(string) string) func(*machine, ast.Node, []any) (any, error) {
	return func(m *machine, n ast.Node, args []any) (any, error) {
		s := args[0].(string)
		if err := m.characters(n, s); err != nil {
			return nil, err
		}
		return m.made(n, f(s))
	}
}

func affixed(f func(string, string) bool) func(*machine, ast.Node, []any) (any, error) {
	return func(_ *machine, _ ast.Node, args []any) (any, error) {
		return f(args[0].(string), args[1].(string)), nil
	}
}

func splitting(f func(string, string, int) []string) func(*machine, ast.Node, []any) (any, error) {
	return func(m *machine, n ast.Node, args []any) (any, error) {
		most := int64(-1)
		if len(args) > 2 {
			var ok bool
			if most, ok = integer(args[2]); !ok {
				return nil, errors.New("the number of parts must be an integer")
			}
		}
		if err := m.grow(n, elementBytes*(1+strings.Count(args[0].(string), args[1].(string)))); err != nil {
			return nil, err
		}
		parts := f(args[0].(string), args[1].(string), int(most))
		out := make([]any, len(parts))
		for i, p := range parts {
			out[i] = p
		}
		return out, nil
	}
}

// indexing finds a text in another, counted in characters; -1 if it is not there.
func indexing(f func(string, string) int) func(*machine, ast.Node, []any) (any, error) {
	return func(_ *machine, _ ast.Node, args []any) (any, error) {
		s := args[0].(string)
		i := f(s, args[1].(string))
		if i < 0 {
			return int64(-1), nil
		}
		return int64(utf8.RuneCountInString(s[:i])), nil
	}
}

func runReplace(m *machine, n ast.Node, args []any) (any, error) {
	s, from, to := args[0].(string), args[1].(string), args[2].(string)
	most := int64(-1)
	if len(args) > 3 {
		var ok bool
		if most, ok = integer(args[3]); !ok {
			return nil, errors.New("the number of replacements must be an integer")
		}
	}
	if err := m.grow(n, len(s)+strings.Count(s, from)*len(to)); err != nil {
		return nil, err
	}
	return strings.Replace(s, from, to, int(most)), nil
}

func runRepeat(m *machine, n ast.Node, args []any) (any, error) {
	s := args[0].(string)
	times, ok := integer(args[1])
	if !ok || times < 0 {
		return nil, errors.New("the number of repetitions must be an integer that is not negative")
	}
	if len(s) > 0 && times > int64(MaxBytes/len(s)) {
		return nil, fmt.Errorf("makes more than %d bytes of values", MaxBytes)
	}
	return m.made(n, strings.Repeat(s, int(times)*min(len(s), 1)))
}

func runJoin(m *machine, n ast.Node, args []any) (any, error) {
	list := args[0].([]any)
	glue := ""
	if len(args) > 1 {
		glue = args[1].(string)
	}
	parts := make([]string, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("joins strings only, element %d is %s", i, describe(v))
		}
		if err := m.grow(n, len(s)+len(glue)+elementBytes); err != nil {
			return nil, err
		}
		parts[i] = s
	}
	return strings.Join(parts, glue), nil
}

// runString gives a text as it is and anything else as canonical JSON; a time or duration without quotes.
func runString(m *machine, n ast.Node, args []any) (any, error) {
	if s, ok := args[0].(string); ok {
		return s, nil
	}
	v, err := runToJSON(m, n, args)
	if err == nil && kindOf(args[0])&(timeKind|durationKind) != 0 {
		return strings.Trim(v.(string), `"`), nil
	}
	return v, err
}

func runToJSON(m *machine, n ast.Node, args []any) (any, error) {
	e := encoder{limit: MaxBytes - m.bytes, left: m.most - m.steps}
	err := e.value(args[0], 0)
	if spent := m.step(n, m.most-m.steps-e.left); spent != nil {
		return nil, spent
	}
	if err != nil {
		return nil, err
	}
	return m.made(n, string(e.b))
}

func runFromJSON(m *machine, n ast.Node, args []any) (any, error) {
	s := args[0].(string)
	if err := m.grow(n, 4*len(s)); err != nil {
		return nil, err
	}
	d := decoder{b: []byte(s), left: m.most - m.steps}
	v, err := d.whole()
	if spent := m.step(n, m.most-m.steps-d.left); spent != nil {
		return nil, spent
	}
	return v, err
}

func runToBase64(m *machine, n ast.Node, args []any) (any, error) {
	return m.made(n, base64.StdEncoding.EncodeToString([]byte(args[0].(string))))
}

// runFromBase64 refuses bytes that are no text: a JSON string cannot hold them.
func runFromBase64(m *machine, n ast.Node, args []any) (any, error) {
	b, err := base64.StdEncoding.DecodeString(args[0].(string))
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, errors.New("the bytes are no UTF-8 text")
	}
	return m.made(n, string(b))
}

// runHost is the host of a URL, in lower case and without port.
func runHost(_ *machine, _ ast.Node, args []any) (any, error) {
	u, err := url.Parse(args[0].(string))
	if err != nil {
		return nil, fmt.Errorf("no URL: %w", err)
	}
	if u.Hostname() == "" {
		return nil, errors.New("a URL without host")
	}
	return strings.ToLower(u.Hostname()), nil
}
