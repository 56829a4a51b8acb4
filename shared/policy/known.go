package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/spelling"
)

// Known is the fix of a field that nobody knows: the one that was probably meant, and
// all that there are. known lists them as a, b and c would be: "a, b, c".
func Known(field, known string) string {
	all := "known are " + known
	if !strings.Contains(known, ", ") {
		all = "known is " + known
	}
	if best := spelling.Nearest(field, strings.Split(known, ", ")); best != "" {
		return fmt.Sprintf("did you mean %s? %s", best, all)
	}
	return all
}

// HasField reports whether rules have a field of this name beside match, in any of its spellings.
func HasField(name string) bool {
	base, ms := strings.CutSuffix(name, "_ms")
	return name == "inherit" || name == "preset" || slices.ContainsFunc(table[:], func(f field) bool {
		return f.name == name || ms && f.timed && f.name == base
	})
}

// matchers are all matchers of a rule.
const matchers = "default, expr, kind, name, queue, task"

// isMatcher reports whether match has a field of this name.
func isMatcher(name string) bool { return slices.Contains(strings.Split(matchers, ", "), name) }

// knownText is Known of a value, which may be no text.
func knownText(v any, known string) string {
	s, _ := v.(string)
	return Known(s, known)
}
