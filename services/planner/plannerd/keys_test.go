package plannerd_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

const limited = `{"definition":{"name":"limited","components":{"a":{"step":"test.echo","queue":"default","policy":{"concurrency":{"key":"'k'","limit":2}}}}},"input":1}`

// Workflows of all partitions share a key. Whoever owns which of the partitions, and dies meanwhile:
// no more than two attempts are open at a time, as the list of keys says, and in the end each workflow has had its own
// and nothing is listed.
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
			if k := w.listed(); len(k) != 1 || k[0].Name != "k" || k[0].Held != uint64(len(open)) || k[0].Queued != uint64(total-len(ended)-len(open)) {
				t.Errorf("%d attempts are open, %d of %d have ended, and the keys are %+v", len(open), len(ended), total, k)
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
		w.until(func() bool { return len(w.listed()) == 0 })
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

// listed are the keys that the partition of the key k has.
func (w *world) listed() []events.KeySummary {
	w.t.Helper()
	p := kafka.PartitionFor([]byte(events.KeyOf(events.ConcurrencyKey, "k")), w.cluster.Topics.Partitions())
	q := events.Query{
		Kind: "keys", Workflow: events.KeyPrefix, Deadline: time.Now().Add(time.Minute).UnixMilli(),
		ReplyTo: events.ReplyTo{Address: "me", ID: time.Now().String()}, // the owner that takes over answers, too
	}
	rec := kafka.Placed(w.names.Queries(), p, []byte(q.Workflow), wire.Marshal(&q))
	if err := w.client.ProduceSync(context.Background(), rec).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
	var others []events.Reply
	for {
		r := <-w.replies
		if r.ID != q.ReplyTo.ID {
			others = append(others, r)
			continue
		}
		for _, o := range others {
			w.replies <- o
		}
		var l events.KeyList
		if err := json.Unmarshal(r.Body, &l); err != nil || r.Refusal != nil {
			w.t.Fatalf("the list of keys: %+v, %v", r, err)
		}
		return l.Items
	}
}
