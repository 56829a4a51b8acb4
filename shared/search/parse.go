package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/heddle-run/heddle/shared/spelling"
)

// Error is a condition that cannot be read: which, and what is wrong with it.
type Error struct {
	Name    string // of the field; empty: the text as a whole
	Message string
}

func (e *Error) Error() string {
	if e.Name == "" {
		return e.Message
	}
	return e.Name + ": " + e.Message
}

var errEmpty = errors.New("is empty; give it a value, or leave it out to choose all")

// New is the filter of some terms; ages in it are as of now. Its error is an *Error.
func New(terms []Term, now time.Time) (Filter, error) {
	f := Filter{}
	seen := map[string]bool{}
	for _, t := range terms {
		if seen[t.Name] {
			return Filter{}, &Error{t.Name, "is given more than once"}
		}
		seen[t.Name] = true
		if err := f.add(t, now); err != nil {
			return Filter{}, &Error{t.Name, err.Error()}
		}
	}
	return f, nil
}

func (f *Filter) add(t Term, now time.Time) error {
	if label, ok := strings.CutPrefix(t.Name, labelPrefix); ok {
		if label == "" {
			return errors.New("names no label; want label.NAME=VALUE")
		}
		if f.Labels == nil {
			f.Labels = map[string]string{}
		}
		f.Labels[label] = t.Value
		return nil
	}
	i := slices.IndexFunc(fields, func(fd field) bool { return fd.name == t.Name })
	switch {
	case i < 0:
		return fmt.Errorf("there is no such condition; there are %s and label.NAME%s", strings.Join(names(), ", "), spelling.Meant(t.Name, names()))
	case t.Value == "":
		return errEmpty
	}
	return fields[i].set(f, t.Value, now)
}

// ParseWhere reads a filter from a text: conditions as name=value, with blanks between
// them. A value, or name, with blanks or quotes in it stands in double quotes, where \" and
// \\ are a quote and a backslash. Ages in it are as of now. Its error is an *Error.
func ParseWhere(where string, now time.Time) (Filter, error) {
	terms, err := split(where)
	if err != nil {
		return Filter{}, err
	}
	return New(terms, now)
}

// split takes a text apart.
func split(where string) ([]Term, error) {
	var terms []Term
	for rest := unspaced(where); rest != ""; rest = unspaced(rest) {
		name, behind, err := name(rest)
		if err != nil {
			return nil, err
		}
		value, left, err := value(behind)
		if err != nil {
			return nil, &Error{name, err.Error()}
		}
		terms, rest = append(terms, Term{name, value}), left
	}
	return terms, nil
}

func unspaced(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) }

// name takes the name and the = behind it off the front of a text.
func name(s string) (name, rest string, err error) {
	if strings.HasPrefix(s, `"`) {
		name, rest, err = unquote(s)
		if err == nil && strings.HasPrefix(rest, "=") {
			return name, rest[1:], nil
		}
		return "", "", notATerm(s)
	}
	end := strings.IndexFunc(s, func(r rune) bool { return r == '=' || unicode.IsSpace(r) })
	if end <= 0 || s[end] != '=' {
		return "", "", notATerm(s)
	}
	return s[:end], s[end+1:], nil
}

func notATerm(s string) error {
	word, _, _ := strings.Cut(s, " ")
	return &Error{"", fmt.Sprintf("%.40q is not of the form name=value; a text with blanks in it stands in double quotes, as q=\"card declined\"", word)}
}

// value takes the value off the front of a text.
func value(s string) (value, rest string, err error) {
	if strings.HasPrefix(s, `"`) {
		value, rest, err = unquote(s)
		if err == nil && rest != "" && unspaced(rest) == rest {
			err = errors.New("has something right behind its closing quote; put a blank between")
		}
		return value, rest, err
	}
	end := strings.IndexFunc(s, unicode.IsSpace)
	if end < 0 {
		end = len(s)
	}
	if strings.Contains(s[:end], `"`) {
		return "", "", fmt.Errorf("%.40q has a quote within; quote the whole value", s[:end])
	}
	return s[:end], s[end:], nil
}

// unquote takes a quoted text off the front of s.
func unquote(s string) (text, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], nil
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errors.New("has no closing quote")
}

// quote is the form of a value that value reads.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// quoted reports whether a value with this letter needs quotes.
func quoted(r rune) bool { return r == '"' || unicode.IsSpace(r) }
