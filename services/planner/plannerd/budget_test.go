package plannerd

import (
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// A budget without room for a refusal would quarantine what it should refuse.
func TestABudgetThatIsTooSmallIsRefused(t *testing.T) {
	for want, b := range map[string]machine.Budget{
		"":               {},
		"bytes":          {Bytes: machine.LeastBytes - 1},
		"events":         {Events: machine.LeastEvents - 1},
		"steps":          {Steps: -1},
		"bytes of tasks": {Tasks: 1},
	} {
		c := Config{TokenKey: events.Key("0123456789abcdef"), DataDir: "d", Instance: "i", Budget: b}
		if err := c.defaults(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), " "+want+",")) {
			t.Errorf("%+v: %v, want it to name %q", b, err, want)
		}
	}
}
