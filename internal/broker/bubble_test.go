package broker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

func TestClientsWorkInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := brokertest.StartInBubble(t, topics.Options{Partitions: 2})
		producer, err := kafka.NewJournalProducer(c.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(producer)
		consumer, err := kafka.NewPartitionConsumer(c.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(consumer)
		consumer.AddConsumePartitions(map[string]map[int32]kgo.Offset{
			c.Topics.Journal(): {1: kgo.NewOffset().At(0)},
		})

		start := time.Now()
		for i := range 3 {
			time.Sleep(time.Hour)
			r := kafka.Placed(c.Topics.Journal(), 1, []byte("wf"), []byte{byte(i)})
			if err := producer.ProduceSync(ctx, r).FirstErr(); err != nil {
				t.Fatalf("produce %d: %v", i, err)
			}
			got := consumer.PollRecords(ctx, 1)
			if err := got.Err(); err != nil {
				t.Fatalf("poll %d: %v", i, err)
			}
			if v := got.Records()[0].Value; v[0] != byte(i) {
				t.Fatalf("poll %d: got %v", i, v)
			}
		}
		if d := time.Since(start); d < 3*time.Hour || d > 3*time.Hour+time.Minute {
			t.Errorf("three hours and a little passed as %v", d)
		}
	})
}
