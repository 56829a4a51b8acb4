package worker

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// Reports that nobody acknowledges hold polling up at their bound of bytes, and one
// acknowledgement lets it go on.
func TestUnacknowledgedReportsAreBoundByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tk, log := without(t, 1)
		const size = 1 << 20
		result := json.RawMessage(`"` + string(make([]byte, size)) + `"`)
		sent := 0
		for ; !tk.tracker.full(); sent++ {
			a := &Attempt{Workflow: "w", pool: tk.pools[0], key: numbered(sent)}
			a.places = nil
			tk.tracker.open[a.key] = a
			tk.end(a, events.TaskOutcome{Token: a.key[:], Outcome: events.OutcomeCompleted, Result: result}, time.Now())
		}
		if sent != maxReporting/size {
			t.Errorf("polling waits behind %d reports of a MiB, want %d", sent, maxReporting/size)
		}
		room := false
		go func() { room = tk.tracker.waitRoom(t.Context()) }()
		synctest.Wait()
		if room {
			t.Fatal("there is room at the bound")
		}
		first := log.reports[0]
		first.promise(first.record, nil)
		synctest.Wait()
		if !room {
			t.Error("there is no room below the bound")
		}
		for _, r := range log.reports[1:] {
			r.promise(r.record, nil)
		}
		if left := tk.tracker.reporting.Load(); left != 0 {
			t.Errorf("%d bytes count when all is acknowledged", left)
		}
	})
}

func numbered(n int) (k key) {
	binary.LittleEndian.PutUint64(k[:], uint64(n)+1)
	return k
}

// The clock of the planner that cancels may be ahead: what was cancelled before is not forgotten
// by that.
func TestACancellationThatIsStampedAheadLetsNoneBeForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tk, _ := without(t, 1)
		now := time.Now()
		for n, stamp := range []time.Time{now, now.Add(2 * cancelledFor)} {
			k := numbered(n)
			tk.cancelled(&kgo.Record{Value: wire.Marshal(&events.TaskCancel{Token: k[:]}), Timestamp: stamp})
		}
		for n := range 2 {
			if !tk.tracker.cancelled.has(numbered(n), now) {
				t.Errorf("cancellation %d is forgotten", n)
			}
		}
	})
}

// A cancellation is known as long as task-control keeps it, and as many as are
// allowed.
func TestCancellationsAreBoundInTimeAndNumber(t *testing.T) {
	l, began := newTracker(1), time.Unix(1_000_000, 0)
	cancelled := func(n int, at time.Time) bool {
		a := &Attempt{key: numbered(n)}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.take(a, (&partition{}).enter(0, 0), at)
		l.remove(a)
		return a.cause != nil
	}
	l.cancel(numbered(0), ErrCancelled, began)
	l.cancel(numbered(1), ErrCancelled, began.Add(time.Second))
	if !cancelled(0, began.Add(cancelledFor-time.Second)) || cancelled(0, began.Add(cancelledFor)) || !cancelled(1, began.Add(cancelledFor)) {
		t.Errorf("a cancellation is not known for just %v", cancelledFor)
	}
	for n := range cancelledMax {
		l.cancel(numbered(2+n), ErrCancelled, began.Add(cancelledFor))
	}
	at, known := began.Add(cancelledFor), l.cancelled.count
	if known != cancelledMax || cancelled(1, at) || !cancelled(3, at) {
		t.Errorf("%d cancellations are known, want the newest %d", known, cancelledMax)
	}
	if kept := retention(t); kept != cancelledFor {
		t.Errorf("task-control keeps its records for %v, workers know them for %v", kept, cancelledFor)
	}
}

func retention(t *testing.T) time.Duration {
	t.Helper()
	set, err := topics.Default().Set(topics.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range set.Desired() {
		if topic.Name == set.TaskControl() {
			ms, err := strconv.ParseInt(topic.Configs["retention.ms"], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return time.Duration(ms) * time.Millisecond
		}
	}
	t.Fatal("there is no task-control")
	return 0
}
