package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// pathBatch is how many records a fetch of the benchmark has.
const pathBatch = 64

// BenchmarkPath is the way of an attempt that does nothing through a Worker,
// without Kafka: consumer.take, a slot, its handler, the outcome's record and
// its acknowledgement.
func BenchmarkPath(b *testing.B) {
	tk, log := without(b, 256)
	var left sync.WaitGroup // of a batch's reports
	tk.produce = func(ctx context.Context, r *kgo.Record, promise func(*kgo.Record, error)) {
		log.produce(ctx, r, promise)
		left.Done()
	}
	p, c := tk.pools[0], tk.consumers[0]
	for range p.Slots {
		p.slots.Go(p.slot)
	}
	c.assign([]int32{0}, nil)
	full := time.NewTimer(fullFor)
	defer full.Stop()
	f := pathFetch()
	b.ReportAllocs()
	for b.Loop() {
		f.renew()
		left.Add(pathBatch)
		c.hand(b.Context(), c.take(f.fetches), full)
		left.Wait()
		log.acknowledge()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pathBatch), "ns/attempt")
	if open := len(tk.tracker.open); open > 0 {
		b.Errorf("%d attempts are open", open)
	}
	p.close()
	p.slots.Wait()
}

func echoes(string) (Handler, bool) {
	return HandlerFunc(func(_ context.Context, a *Attempt) (json.RawMessage, error) { return a.Spec.Input, nil }), true
}

// without is a Worker without Kafka: its reports go to the outbox.
func without(tb testing.TB, slots int) (*Worker, *outbox) {
	tb.Helper()
	tk, err := New(Config{
		Kafka: kafka.Config{Brokers: []string{"127.0.0.1:1"}}, Name: "worker-1", Channel: "test",
		Pools: []Pool{{Queues: []string{"default"}, Slots: slots, Lookup: echoes}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	log := &outbox{}
	tk.base, tk.produce = context.WithoutCancel(tb.Context()), log.produce
	return tk, log
}

// outbox is the log of reports in memory: the test that has it acknowledges them.
type outbox struct {
	mu      sync.Mutex
	reports []promised
}

type promised struct {
	record  *kgo.Record
	promise func(*kgo.Record, error)
}

func (o *outbox) produce(_ context.Context, r *kgo.Record, promise func(*kgo.Record, error)) {
	o.mu.Lock()
	o.reports = append(o.reports, promised{r, promise})
	o.mu.Unlock()
}

func (o *outbox) acknowledge() {
	for _, p := range o.reports {
		p.promise(p.record, nil)
	}
	clear(o.reports)
	o.reports = o.reports[:0]
}

// fetched is a fetch whose records are used again with other tokens.
type fetched struct {
	fetches kgo.Fetches
	records []*kgo.Record
	next    uint64
}

func pathFetch() *fetched {
	f := &fetched{}
	for i := range pathBatch {
		w := fmt.Sprintf("bench-%04d-%06d", i%7, i)
		token := make([]byte, 60)
		copy(token, "0123456789abcdef")
		v := wire.Marshal(&events.Task{
			Token: token, Task: "bench.noop", Component: "step-3", Attempt: 1,
			Input: json.RawMessage(`{"n":1234}`), IdempotencyKey: w + "/e1.5/r7",
		})
		f.records = append(f.records, &kgo.Record{Topic: "tasks", Key: []byte(w), Value: v, Timestamp: time.Now()})
	}
	f.fetches = kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: "tasks", Partitions: []kgo.FetchPartition{{Records: f.records}}}}}}
	return f
}

// renew makes the records those of other attempts.
func (f *fetched) renew() {
	for _, r := range f.records {
		f.next++
		r.Offset++
		x := f.next * 0x9e3779b97f4a7c15 // tokens are random
		for i := range 8 {
			r.Value[2+i] = byte(x >> (8 * i)) // behind the field's tag and length
		}
	}
}
