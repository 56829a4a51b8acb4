package plannerd

import (
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/internal/runtime"
)

// However many pools there are, so many names are labels, and nothing is left out of the sums.
func TestTheLabelsOfPoolsAreBounded(t *testing.T) {
	one := runtime.PoolBacklog{Connected: 3, PassedOver: 1, Lost: 2, Draining: 4, Slots: 12, Free: 5, Queued: 6, Running: 7}
	var parts []map[string]runtime.PoolBacklog
	for p := range 3 {
		part := map[string]runtime.PoolBacklog{}
		for i := range 50 {
			part[fmt.Sprintf("p%d-%d", p, i)] = one
		}
		parts = append(parts, part)
	}
	got := boundedPools(parts)
	if len(got) != mostLabels+1 {
		t.Errorf("%d labels", len(got))
	}
	want := runtime.PoolBacklog{Connected: 150, PassedOver: 50, Lost: 100, Draining: 200, Slots: 600, Free: 250, Queued: 300, Running: 350}
	if got[otherLabel] != want {
		t.Errorf("the others are %+v, want %+v", got[otherLabel], want)
	}
}
