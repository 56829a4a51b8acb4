package spelling_test

import (
	"testing"

	"github.com/heddle-run/heddle/shared/spelling"
)

func TestTheNearestNameIsFound(t *testing.T) {
	known := []string{"step.greet", "step.great", "mail.send", ""}
	for name, want := range map[string]string{
		"stp.greet": "step.greet", "STEP.GREAT": "step.great", "mail.sent": "mail.send", "orders.price": "", "": "", "x": "",
	} {
		if got := spelling.Nearest(name, known); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	if got := spelling.Nearest("a", nil); got != "" {
		t.Errorf("of no names: %q", got)
	}
}
