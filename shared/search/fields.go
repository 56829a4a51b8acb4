package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/spelling"
)

// field is one line of the table of what a filter may say.
type field struct {
	name, about string
	get         func(*Filter) string
	set         func(f *Filter, value string, now time.Time) error
}

// fields is the table, but for labels, whose names are a user's.
var fields = []field{
	text("status", "only of this status", func(f *Filter) *string { return &f.Status }, knownStatus),
	text("definition", "a name, name@version or digest", func(f *Filter) *string { return &f.Definition }, nil),
	text("error", "only with a failure of this type, as timeout", func(f *Filter) *string { return &f.Error }, nil),
	text("component", "only with a failure of this component; with error: of the same failure", func(f *Filter) *string { return &f.Component }, nil),
	text("q", "words, each of which occurs, whatever its case, in the ID, the definition's name, a label, or a failure's component, type or message",
		func(f *Filter) *string { return &f.Text }, fewWords),
	moment("created_after", "RFC 3339, or how long ago, as 24h or 7d", func(f *Filter) *time.Time { return &f.CreatedAfter }),
	moment("created_before", "likewise", func(f *Filter) *time.Time { return &f.CreatedBefore }),
	moment("updated_after", "likewise", func(f *Filter) *time.Time { return &f.UpdatedAfter }),
	moment("updated_before", "likewise", func(f *Filter) *time.Time { return &f.UpdatedBefore }),
}

func text(name, about string, at func(*Filter) *string, check func(string) error) field {
	return field{name, about, func(f *Filter) string { return *at(f) }, func(f *Filter, value string, _ time.Time) error {
		if check != nil {
			if err := check(value); err != nil {
				return err
			}
		}
		*at(f) = value
		return nil
	}}
}

func moment(name, about string, at func(*Filter) *time.Time) field {
	get := func(f *Filter) string {
		if at(f).IsZero() {
			return ""
		}
		return at(f).UTC().Format(time.RFC3339Nano)
	}
	return field{name, about, get, func(f *Filter, value string, now time.Time) (err error) {
		*at(f), err = parseTime(value, now)
		return err
	}}
}

// parseTime reads a time, or an age as of now.
func parseTime(value string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, value); err == nil && !t.IsZero() && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
		return t.UTC(), nil
	}
	if age, ok := parseAge(value); ok {
		return now.Add(-age).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%q is neither a time, as 2026-01-02T03:04:05Z, nor how long ago, as 24h or 7d", value)
}

// parseAge reads a duration; days, which Go's do not have, stand alone.
func parseAge(value string) (time.Duration, bool) {
	if digits, ok := strings.CutSuffix(value, "d"); ok {
		days, err := strconv.ParseUint(digits, 10, 16)
		return time.Duration(days) * 24 * time.Hour, err == nil
	}
	age, err := time.ParseDuration(value)
	return age, err == nil && age >= 0
}

func knownStatus(value string) error {
	known := events.Statuses()
	if slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%q is none of %s%s", value, strings.Join(known, ", "), spelling.Meant(value, known))
}

// maxWords bounds what is looked for in each text.
const maxWords = 16

func fewWords(value string) error {
	switch n := len(strings.Fields(value)); {
	case n == 0:
		return errEmpty
	case n > maxWords:
		return fmt.Errorf("has %d words; at most %d are looked for", n, maxWords)
	}
	return nil
}

// Field describes a field of a filter.
type Field struct{ Name, About string }

// Fields describes all of them; label.* stands for those that begin with label.
func Fields() []Field {
	all := []Field{{labelPrefix + "*", "only with this label"}}
	for _, fd := range fields {
		all = append(all, Field{fd.name, fd.about})
	}
	return all
}

// names are those of all fields.
func names() []string {
	var all []string
	for _, fd := range fields {
		all = append(all, fd.name)
	}
	return all
}
