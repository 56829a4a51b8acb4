package runtime_test

import (
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/internal/runtime"
)

func TestQueuesAreCountedOverPartitions(t *testing.T) {
	at := func(text string) *string { return &text }
	share := func(p int32, queues map[string]runtime.QueueBacklog) runtime.Partition {
		return runtime.Partition{Partition: p, Snapshot: runtime.Snapshot{Backlog: runtime.Backlog{Queues: queues}}}
	}
	all := runtime.Aggregate{Partitions: []runtime.Partition{
		share(2, map[string]runtime.QueueBacklog{"mail": {Pending: 1, OldestPendingSince: at("2026-01-02T03:04:05Z")}}),
		share(0, map[string]runtime.QueueBacklog{
			"mail":  {Pending: 3, Notified: 2, OldestPendingSince: at("2026-01-02T03:04:05.5Z")},
			"bills": {Notified: 7},
		}),
		share(1, nil),
		share(3, map[string]runtime.QueueBacklog{"mail": {Pending: 1, OldestPendingSince: at("once")}}),
	}}
	const want = `[{"name":"bills","pending":0,"notified":7,"delivered":0,"failed":0,"deferred":0,"oldest_pending_since":null,` +
		`"partitions":[{"partition":0,"pending":0,"notified":7,"delivered":0,"failed":0,"deferred":0,"oldest_pending_since":null}]},` +
		`{"name":"mail","pending":5,"notified":2,"delivered":0,"failed":0,"deferred":0,"oldest_pending_since":"2026-01-02T03:04:05Z",` +
		`"partitions":[{"partition":0,"pending":3,"notified":2,"delivered":0,"failed":0,"deferred":0,"oldest_pending_since":"2026-01-02T03:04:05.5Z"},` +
		`{"partition":2,"pending":1,"notified":0,"delivered":0,"failed":0,"deferred":0,"oldest_pending_since":"2026-01-02T03:04:05Z"},` +
		`{"partition":3,"pending":1,"notified":0,"delivered":0,"failed":0,"deferred":0,"oldest_pending_since":"once"}]}]`
	for range 20 { // whatever the order of maps
		if got, err := json.Marshal(all.Queues()); err != nil || string(got) != want {
			t.Fatalf("got  %s, %v\nwant %s", got, err, want)
		}
	}
	if got, err := json.Marshal((&runtime.Aggregate{}).Queues()); err != nil || string(got) != "[]" {
		t.Errorf("of none: %s, %v", got, err)
	}
}
