package partition

import (
	"context"
	"testing"
)

// Where a queue's log stands is known while no worker has ever taken from it: its group
// does not exist yet, and has taken nothing.
func TestAQueueThatNobodyHasServedIsLookedUp(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.with(r.names.Tasks("unserved"))
		s := r.start("a", 0)
		s.await(Owning)
		at, err := s.queueOffsets(context.Background(), "unserved")
		r.must(err)
		if len(at) != 4 {
			t.Fatalf("%d partitions are known, want 4", len(at))
		}
		for p, q := range at {
			if q.Unknown || q.Committed != 0 || q.End != 0 {
				t.Errorf("partition %d: %+v", p, q)
			}
		}
		s.leave()
	})
}
