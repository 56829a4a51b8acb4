package kafka_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// A range that nobody can read any more ends, whatever is asked while nothing comes.
func TestARangeOfAClosedClientEnds(t *testing.T) {
	cl, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	cl.Close()
	for _, to := range []int64{5, -1} {
		g := kafka.Range{Topic: "t", To: to, Wait: time.Hour, Stalled: func(context.Context, int64) error { return nil }}
		err := g.Read(t.Context(), cl, func(*kgo.Record) error { return nil })
		if !errors.Is(err, kgo.ErrClientClosed) {
			t.Errorf("to %d: got %v", to, err)
		}
	}
}
