package broker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
)

// What was aborted is not read, however little a reader takes at a time.
func TestASmallFetchShowsNothingThatWasAborted(t *testing.T) {
	c := brokertest.Start(t, few)
	topic := c.Topics.Journal()
	transact(t, c, topic, "first")
	dead := transaction(t, c)
	if err := dead.ProduceSync(t.Context(), kafka.Placed(topic, 0, nil, []byte("dead"))).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(kafka.Published(t.Context(), dead), dead.EndTransaction(t.Context(), kgo.TryAbort)); err != nil {
		t.Fatal(err)
	}
	transact(t, c, topic, "second")

	cl, err := kgo.NewClient(
		kgo.SeedBrokers(c.Config.Brokers...), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxBytes(1),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(cl)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var got []string
	for len(got) < 2 && ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	if want := []string{"first", "second"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q were read, want %q", got, want)
	}
}
