package worker

import (
	"bytes"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// Whatever records stand on a queue and on task-control, none stops a partition:
// all are done with, one that comes twice runs once, and what is not understood
// is handed back, also where every task has a handler.
func FuzzRecords(f *testing.F) {
	token := append([]byte("0123456789abcdef"), make([]byte, 20)...)
	task := wire.Marshal(&events.Task{
		Token: token, Task: "a.b", Component: "c", Attempt: 1, Input: []byte(`{"n":1}`), Context: []byte(`{}`),
		Deadline: 1 << 50, IdempotencyKey: "w/r1", TraceParent: "00-x", Heartbeat: []byte(`1`), Timeout: 60_000,
	})
	cancel := wire.Marshal(&events.TaskCancel{Token: token, Reason: "why"})
	f.Add([]byte("w"), task, []byte(nil), int64(0))
	f.Add([]byte("w"), task, cancel, time.Now().UnixMilli())
	f.Add([]byte("w"), append(task[:len(task):len(task)], 0x78, 1), cancel, int64(-1)) // of a newer planner
	f.Add([]byte("other"), wire.Marshal(&events.Task{Token: token, Task: "a.b", Deadline: 1}), cancel[:3], int64(1)<<62)
	f.Add([]byte(nil), task, wire.Marshal(&events.TaskCancel{Token: []byte("short")}), int64(0))
	tk, log := without(f, 1) // takes long to make
	c := tk.consumers[0]
	f.Fuzz(func(t *testing.T, key, value, control []byte, at int64) {
		tk.tracker, c.partitions, log.reports = newTracker(1), map[int32]*partition{}, nil
		c.assign([]int32{0}, nil)
		tk.cancelled(&kgo.Record{Value: control, Timestamp: time.UnixMilli(at)})
		record := func(offset int64) *kgo.Record {
			return &kgo.Record{Topic: c.topic, Key: key, Value: bytes.Clone(value), Offset: offset, Timestamp: time.UnixMilli(at)}
		}
		for _, a := range c.take(fetchOf(record(0), record(1))) {
			tk.execute(a)
			checkOutcome(t, tk, log, a, value)
		}
		log.acknowledge()
		for range c.take(fetchOf(record(2))) {
			t.Error("it is taken again")
		}
		if done := c.partitions[0].done.Offset; done != 3 || len(tk.tracker.open) != 0 {
			t.Errorf("done up to %d of 3, %d attempts are open", done, len(tk.tracker.open))
		}
	})
}

// checkOutcome holds that an attempt has one outcome, that of its record.
func checkOutcome(t *testing.T, tk *Worker, log *outbox, a *Attempt, value []byte) {
	t.Helper()
	if len(log.reports) != 1 {
		t.Fatalf("%d reports of one attempt", len(log.reports))
	}
	o := outcomeIn(t, log.reports[0].record)
	var spec events.Task
	readable := wire.Unmarshal(value, &spec) == nil
	understood := readable && spec.Task != ""
	switch {
	case !bytes.Equal(o.Token, a.Spec.Token):
		t.Errorf("the outcome is of %x, want %x", o.Token, a.Spec.Token)
	case a.cause != nil:
		if o.Outcome != events.OutcomeCancelled {
			t.Errorf("it was cancelled and is %v", o.Outcome)
		}
	case readable && (spec.Deadline > 0 || spec.Timeout > 0): // it may be over
	case understood != (o.Outcome == events.OutcomeCompleted) || !understood && o.Outcome != events.OutcomeUnknownTask:
		t.Errorf("%x has the outcome %v", value, o.Outcome)
	}
}

// fetchOf is a fetch of partition 0.
func fetchOf(records ...*kgo.Record) kgo.Fetches {
	return kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: records[0].Topic, Partitions: []kgo.FetchPartition{{Records: records}}}}}}
}
