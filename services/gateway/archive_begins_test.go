package gateway

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// A workflow that is there after a restoration is what was restored, or another one's.
func TestWhatIsRestoredBeginsWithIt(t *testing.T) {
	run, ann, bob := events.RunID{Epoch: 1, Seq: 2}, events.By{Who: "ann"}, events.By{Who: "bob"}
	m := &events.RunRestore{Run: run, By: ann}
	for what, c := range map[string]struct {
		first events.Event
		want  bool
	}{
		"it":                              {&events.WorkflowRestored{Run: run, By: ann}, true},
		"somebody else's restoration":     {&events.WorkflowRestored{Run: run, By: bob}, false},
		"another run":                     {&events.WorkflowRestored{Run: events.RunID{Epoch: 1, Seq: 3}, By: ann}, false},
		"one that was started":            {&events.WorkflowStarted{}, false},
		"one whose beginning is gone":     {&events.InputAccepted{}, false},
		"one of which nothing is at hand": {nil, false},
	} {
		if got := begins(c.first, m); got != c.want {
			t.Errorf("%s is taken for what was restored: %v", what, got)
		}
	}
}
