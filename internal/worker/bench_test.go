package worker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/shared/wire"
)

// BenchmarkTrivialAttempts is taking, running and reporting attempts that do
// nothing, over the embedded broker.
func BenchmarkTrivialAttempts(b *testing.B) {
	for name, timeout := range map[string]time.Duration{"unlimited": 0, "limited": time.Minute} {
		b.Run(name, func(b *testing.B) { benchmarkAttempts(b, timeout) })
	}
}

func benchmarkAttempts(b *testing.B, timeout time.Duration) {
	c := brokertest.Start(b, topics.Options{Partitions: 8})
	p := workertest.New(b, c)
	producer, err := kafka.NewEffectsProducer(c.Config)
	if err != nil {
		b.Fatal(err)
	}
	defer producer.Close()
	tk, err := worker.New(worker.Config{Kafka: c.Config, Name: "bench", Channel: "bench",
		Pools: []worker.Pool{{Queues: []string{"default"}, Slots: 256, Lookup: handlers{"echo": echo}.lookup}}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- tk.Run(ctx) }()
	records := make([]*kgo.Record, b.N)
	for i := range records {
		w := fmt.Sprintf("w-%d", i%1000)
		task := p.Task(w, "echo", 7)
		task.Timeout = timeout.Milliseconds()
		records[i] = kafka.Placed(c.Topics.Tasks("default"), int32(i%8), []byte(w), wire.Marshal(task))
	}
	inbox, err := kafka.NewTail(c.Config, kafka.FromStart, c.Topics.Inbox())
	if err != nil {
		b.Fatal(err)
	}
	defer inbox.Close()
	p.Dispatch("default", 0, "w", p.Task("w", "echo", 7))
	p.Outcome(10 * time.Second)
	b.ResetTimer()
	go func() {
		for _, r := range records {
			producer.Produce(ctx, r, nil)
		}
	}()
	for n := 0; n < b.N+1; {
		n += inbox.PollFetches(ctx).NumRecords()
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "attempts/s")
	stop()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
