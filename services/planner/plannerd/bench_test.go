package plannerd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// BenchmarkChain10 runs workflows of ten steps through planner, broker and an
// echoing worker in one process; an iteration is one workflow.
func BenchmarkChain10(b *testing.B) {
	for _, concurrency := range []int{1, 128, 512} {
		b.Run(fmt.Sprintf("c=%d", concurrency), func(b *testing.B) { workflows(b, concurrency, 10, chainOf(10)) })
	}
}

// BenchmarkHotKey runs workflows of one step whose attempts all need a permit of one key, and for
// comparison such that need none. An iteration is one permit: asked for, granted and given back.
func BenchmarkHotKey(b *testing.B) {
	for _, limit := range []int{0, 1, 16, 128} {
		b.Run(fmt.Sprintf("limit=%d", limit), func(b *testing.B) {
			step := `{"step":"test.echo","queue":"default"}`
			if limit > 0 {
				step = fmt.Sprintf(`{"step":"test.echo","queue":"default","policy":{"concurrency":{"key":"'hot'","limit":%d}}}`, limit)
			}
			workflows(b, 512, 1, []byte(`{"definition":{"name":"hot","components":{"s":`+step+`}},"input":{"x":1},"options":{"close":"on_idle"}}`))
		})
	}
}

// workflows runs workflows of some steps each, so many at a time.
func workflows(b *testing.B, concurrency, steps int, start []byte) {
	ctx, stop := context.WithCancel(context.Background())
	broke, err := broker.Start(ctx, broker.Options{Dir: b.TempDir()})
	check(b, err)
	cfg := kafka.Config{Brokers: []string{broke.Addr()}}
	set, err := topics.Default().Set(topics.Options{Partitions: 8})
	check(b, err)
	admin, err := kafka.NewAdmin(cfg)
	check(b, err)
	_, err = set.Apply(ctx, admin)
	check(b, err)
	p, err := plannerd.New(plannerd.Config{Kafka: cfg, DataDir: b.TempDir(), Instance: "bench", TokenKey: events.Key("0123456789abcdef")})
	check(b, err)
	var wg sync.WaitGroup
	wg.Go(func() { check(b, p.Run(ctx)) })
	<-p.Ready()

	client, err := kafka.NewEffectsProducer(cfg)
	check(b, err)
	worker, err := kafka.NewTail(cfg, kafka.FromEnd, set.Tasks("default"))
	check(b, err)
	wg.Go(func() { poll(ctx, worker, func(k *kgo.Record) { echoed(client, set, k) }) })
	replies, err := kafka.NewTail(cfg, kafka.FromEnd, set.Replies())
	check(b, err)
	slots := make(chan struct{}, concurrency)
	var took []time.Duration
	var mu sync.Mutex
	began := map[string]time.Time{}
	wg.Go(func() {
		poll(ctx, replies, func(k *kgo.Record) {
			var r events.Reply
			check(b, json.Unmarshal(k.Value, &r))
			if r.Kind == events.ReplyDrained {
				mu.Lock()
				took = append(took, time.Since(began[r.ID]))
				delete(began, r.ID)
				mu.Unlock()
				<-slots
			}
		})
	})
	time.Sleep(300 * time.Millisecond) // the tails are at their ends
	b.ResetTimer()
	for i := range b.N {
		slots <- struct{}{}
		id := fmt.Sprintf("wf-%d", i)
		mu.Lock()
		began[id] = time.Now()
		mu.Unlock()
		rec := kafka.Keyed(set.Commands(), []byte(id), start,
			kafka.Header(events.HeaderID, []byte(id)), kafka.Header(events.HeaderType, []byte(events.CommandType("start"))),
			kafka.Header(events.HeaderReplyTo, []byte("bench")), kafka.Header(events.HeaderReplyWait, []byte("drained")))
		client.Produce(ctx, rec, nil)
	}
	for range concurrency {
		slots <- struct{}{}
	}
	b.StopTimer()
	b.ReportMetric(float64(steps*b.N)/b.Elapsed().Seconds(), "steps/s")
	mid := took[len(took)/2]
	b.ReportMetric(float64(mid.Microseconds())/1000, "ms-mid")
	stop()
	wg.Wait()
	for _, cl := range []*kgo.Client{client, worker, replies, admin} {
		cl.Close()
	}
	check(b, broke.Close())
}

func echoed(client *kgo.Client, set *topics.Set, k *kgo.Record) {
	var task events.Task
	if err := wire.Unmarshal(k.Value, &task); err != nil {
		panic(err)
	}
	out := events.EncodeInbox(&events.TaskOutcome{Token: task.Token, Outcome: events.OutcomeCompleted, Result: task.Input})
	client.Produce(context.Background(), kafka.Keyed(set.Inbox(), k.Key, out), nil)
}

func poll(ctx context.Context, cl *kgo.Client, visit func(*kgo.Record)) {
	for ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(visit)
	}
}

// chainOf is a start command with an inline chain of n steps.
func chainOf(n int) []byte {
	var parts []string
	for i := range n {
		after := ""
		if i > 0 {
			after = fmt.Sprintf(`,"after":"s%d"`, i-1)
		}
		parts = append(parts, fmt.Sprintf(`"s%d":{"step":"test.echo","queue":"default"%s}`, i, after))
	}
	return []byte(`{"definition":{"name":"chain","components":{` + strings.Join(parts, ",") + `}},"input":{"x":1},"options":{"close":"on_idle"}}`)
}

func check(b *testing.B, err error) {
	if err != nil && os.Getenv("HEDDLE_TEST_LOG") == "" {
		b.Error(err)
	}
}
