package kafka_test

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// A broker that stalls keeps its connections and answers nothing. An owner that has a lease to
// renew goes to the broker that leads by then, long before the lease ends.
func TestABrokerThatHangsIsGivenUp(t *testing.T) {
	const patience = 2 * time.Second
	for name, c := range map[string]struct{ patience, atLeast, within time.Duration }{
		"with patience":     {patience, patience, 3 * patience},
		"with kgo's own":    {0, 10 * time.Second, time.Minute},
		"with the shortest": {100 * time.Millisecond, 100 * time.Millisecond, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := brokertest.StartInBubble(t, topics.Options{Partitions: 1})
				config := cluster.Config
				config.Patience = c.patience
				config.Dialer = hangs(1, config.Dialer)
				names, err := config.Names()
				if err != nil {
					t.Fatal(err)
				}
				producer, err := kafka.NewJournalProducer(config)
				if err != nil {
					t.Fatal(err)
				}
				defer cluster.Close(producer)
				began := time.Now()
				err = producer.ProduceSync(t.Context(), &kgo.Record{Topic: names.Journal(), Value: []byte("x")}).FirstErr()
				if took := time.Since(began); err != nil || took < c.atLeast || took > c.within {
					t.Errorf("written after %s: %v", took, err)
				}
			})
		})
	}
}

// hangs is a dialer whose first connections lead to a broker that reads and never
// answers.
func hangs(first int, dial kafka.Dialer) kafka.Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if first--; first < 0 {
			return dial(ctx, network, addr)
		}
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }() // until ours is closed
		return ours, nil
	}
}
