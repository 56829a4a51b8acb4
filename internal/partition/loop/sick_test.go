package loop

import (
	"testing"
	"time"
)

// An attempt in a partition of its queue that has no leader is not published
// again: nothing is known of its record.
func TestE3OfAPartitionWithoutALeaderNothingIsKnown(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	task := m.running("w")
	m.batch.Produced = []Produced{{Out: task, Partition: 0, Offset: 5}}
	m.mustStep()
	for _, unknown := range []bool{true, false} {
		m.now = m.now.Add(31 * time.Second)
		m.mustStep()
		m.batch.Queues = []QueueOffsets{{Queue: "default", Partitions: []QueuePartition{{Unknown: unknown}}}}
		m.mustStep()
		m.inboxRead()
		again := m.p.Stats.Republished.Load() > 0
		if again == unknown {
			t.Errorf("the log is unknown: %t, the task is published again: %t", unknown, again)
		}
	}
}
