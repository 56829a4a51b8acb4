package plannerd_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

const limited = `{"definition":{"name":"limited","components":{"a":{"step":"test.echo","queue":"default","policy":{"concurrency":{"key":"'k'","limit":2}}}}},"input":1}`

// Workflows of all partitions share a key. Whoever owns which of the partitions, and dies meanwhile:
// no more than two attempts are open at a time, and in the end each workflow has had its own.
func TestAKeyIsSharedByAllPartitionsThoughAnOwnerDies(t *testing.T) {
	const each = 2
	inWorld(t, func(w *world) {
		w.held = make(chan *kgo.Record, 100)
		a, killA, _ := w.mortal("a")
		b, stopB := w.planner("b")
		w.until(func() bool { return owned(a) == 2 && owned(b) == 2 })
		partitions := w.cluster.Topics.Partitions()
		for p := range partitions {
			for i := range each {
				w.command(w.idOn(p, "w"+string(rune('a'+i))), "start", limited)
			}
		}
		open, ended := map[string]*kgo.Record{}, map[string]bool{}
		for total := int(partitions) * each; len(ended) < total; {
			w.gather(open, ended)
			if len(open) == 0 || len(open) > 2 {
				t.Fatalf("%d attempts are open, and %d of %d have ended", len(open), len(ended), total)
			}
			for token, task := range open {
				w.complete(task)
				ended[token] = true
				delete(open, token)
				break
			}
			if len(ended) == total/2 {
				if err := killA(); err != nil {
					t.Error(err)
				}
			}
		}
		for range int(partitions) * each {
			w.reply(events.ReplyDrained)
		}
		if err := stopB(); err != nil {
			t.Error(err)
		}
	})
}

// gather takes the tasks that come while all who may send some do so. A task may come twice.
func (w *world) gather(open map[string]*kgo.Record, ended map[string]bool) {
	w.t.Helper()
	for over := time.After(15 * time.Second); ; {
		select {
		case k := <-w.held:
			var task events.Task
			if err := wire.Unmarshal(k.Value, &task); err != nil {
				w.t.Fatal(err)
			}
			if token := string(task.Token); !ended[token] {
				open[token] = k
			}
		case <-over:
			return
		}
	}
}
