package policy

import (
	"fmt"
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

// knownText is Known of a value, which may be no text.
func knownText(v any, known string) string {
	s, _ := v.(string)
	return Known(s, known)
}
