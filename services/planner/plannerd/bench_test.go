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
		b.Run(fmt.Sprintf("c=%d", concurrency), func(b *testing.B) { chain10(b, concurrency) })
	}
}

func chain10(b *testing.B, concurrency int) {
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
	def := chainOf(10)
	b.ResetTimer()
	for i := range b.N {
		slots <- struct{}{}
		id := fmt.Sprintf("wf-%d", i)
		mu.Lock()
		began[id] = time.Now()
		mu.Unlock()
		rec := kafka.Keyed(set.Commands(), []byte(id), def,
			kafka.Header(events.HeaderID, []byte(id)), kafka.Header(events.HeaderType, []byte(events.CommandType("start"))),
			kafka.Header(events.HeaderReplyTo, []byte("bench")), kafka.Header(events.HeaderReplyWait, []byte("drained")))
		client.Produce(ctx, rec, nil)
	}
	for range concurrency {
		slots <- struct{}{}
	}
	b.StopTimer()
	b.ReportMetric(float64(10*b.N)/b.Elapsed().Seconds(), "steps/s")
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
