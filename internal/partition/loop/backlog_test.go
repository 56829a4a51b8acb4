package loop

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// recounted is the backlog by walking all open attempts.
func recounted(w *watch) runtime.Backlog {
	var all runtime.Backlog
	queues := map[string]runtime.QueueBacklog{}
	older := func(at *string, since int64) *string {
		text := published(since)
		if at != nil && *at <= *text {
			return at
		}
		return text
	}
	for _, at := range w.open {
		q := queues[at.row.Queue]
		if at.row.Notified {
			all.Notified++
			q.Notified++
		} else {
			all.Pending++
			q.Pending++
			all.OldestPendingSince = older(all.OldestPendingSince, at.row.Since)
			q.OldestPendingSince = older(q.OldestPendingSince, at.row.Since)
		}
		queues[at.row.Queue] = q
	}
	if len(queues) > 0 {
		all.Queues = queues
	}
	return all
}

func TestTheBacklogIsACountOfTheOpenAttempts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWatch()
		t.Repeat(map[string]func(*rapid.T){
			"change an attempt": func(t *rapid.T) {
				w.note(&try{
					key: attemptKey{"order", events.RunnableID(rapid.IntRange(1, 9).Draw(t, "runnable"))},
					row: machine.Attempt{
						Attempt:  uint32(rapid.IntRange(1, 3).Draw(t, "attempt")),
						Queue:    rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "queue"),
						Since:    rapid.Int64Range(1, 20).Draw(t, "since") * 1000,
						Notified: rapid.Bool().Draw(t, "notified"),
					},
					open: rapid.IntRange(0, 3).Draw(t, "closes") > 0,
				}, 1)
			},
			"": func(t *rapid.T) {
				walked, kept := recounted(&w), w.backlog.published()
				if !reflect.DeepEqual(walked, kept) {
					t.Fatalf("walking all attempts counts\n%s\nand the backlog has\n%s", asJSON(t, walked), asJSON(t, kept))
				}
			},
		})
	})
}

func TestABacklogNamesTheQueuesThatWaitLongest(t *testing.T) {
	w := newWatch()
	for i := range maxQueues + 1 {
		w.note(&try{
			key:  attemptKey{"order", events.RunnableID(i + 1)},
			row:  machine.Attempt{Attempt: 1, Queue: fmt.Sprint("q", i), Since: int64(1000 - i), Notified: i == 9},
			open: true,
		}, 1)
	}
	b := w.backlog.published()
	if b.Pending != maxQueues || b.Notified != 1 || len(b.Queues) != maxQueues {
		t.Fatalf("%d pending, %d notified, %d queues", b.Pending, b.Notified, len(b.Queues))
	}
	if _, named := b.Queues["q9"]; named {
		t.Error("a queue that nobody waits in is named before one with a pending attempt")
	}
}

func asJSON(t *rapid.T, b runtime.Backlog) string {
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
