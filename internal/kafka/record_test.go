package kafka_test

import (
	"context"
	"testing"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// The size of a batch is the one by which kgo refuses a record, within the few
// bytes that depend on the version of the request.
func TestBatchBytesIsWhatKgoRefusesBy(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	cl, err := kafka.NewEffectsProducer(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(cl)
	topic := c.Topics.Names.Commands()
	limit := int(c.Topics.MaxBytes(topic))
	for _, beyond := range []int{-3, 0, 4} {
		r := kafka.Placed(topic, 0, []byte("key"), nil, kafka.Header("name", []byte("value")))
		r.Value = make([]byte, limit-200)
		r.Value = make([]byte, len(r.Value)+limit+beyond-kafka.BatchBytes(r))
		if n := kafka.BatchBytes(r); n != limit+beyond {
			t.Fatalf("the record has %d bytes, want %d", n, limit+beyond)
		}
		err := cl.ProduceSync(context.Background(), r).FirstErr()
		if kafka.IsTooLarge(err) != (beyond > 0) || err != nil && beyond <= 0 {
			t.Errorf("%d bytes beyond the limit: %v", beyond, err)
		}
	}
}
