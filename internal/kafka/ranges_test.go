package kafka_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
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

// polled gives one record at each poll, and notes when.
type polled struct{ at []time.Time }

func (p *polled) PollFetches(context.Context) kgo.Fetches {
	p.at = append(p.at, time.Now())
	k := &kgo.Record{Topic: "t", Offset: int64(len(p.at) - 1)}
	return kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: "t", Partitions: []kgo.FetchPartition{{Records: []*kgo.Record{k}}}}}}}
}

// Polls keep their pace.
func TestARangeIsReadAtItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &polled{}
		g := kafka.Range{Topic: "t", To: 4, Wait: time.Hour, Pace: time.Second}
		if err := g.Read(t.Context(), p, func(*kgo.Record) error { return nil }); err != nil {
			t.Fatal(err)
		}
		for i, at := range p.at[1:] {
			if d := at.Sub(p.at[i]); d != time.Second {
				t.Errorf("poll %d comes %s behind the one before", i+1, d)
			}
		}
		if len(p.at) != 4 {
			t.Errorf("%d polls, want 4", len(p.at))
		}
	})
}
