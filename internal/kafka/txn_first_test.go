package kafka_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// straggler makes kgo late with publishing the partitions of a topic that it
// produces to for the first time: a record of its own, for another broker, is
// behind the transaction's and is held until the transaction goes to its end.
type straggler struct {
	cl     *kgo.Client
	topic  string
	once   sync.Once
	ending chan struct{}
	end    func()
}

func newStraggler(topic string) *straggler {
	s := &straggler{topic: topic, ending: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.ending) })
	return s
}

// OnNewClient implements kgo.HookNewClient.
func (s *straggler) OnNewClient(cl *kgo.Client) { s.cl = cl }

// OnBrokerWrite implements kgo.HookBrokerWrite.
func (s *straggler) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	switch {
	case key == kmsg.EndTxn.Int16():
		s.end()
	case key == kmsg.Metadata.Int16() && s.cl.BufferedProduceRecords() > 0:
		s.once.Do(func() {
			s.cl.Produce(context.Background(), &kgo.Record{Topic: s.topic, Partition: 0}, nil)
		})
	}
}

// OnProduceRecordPartitioned implements kgo.HookProduceRecordPartitioned.
func (s *straggler) OnProduceRecordPartitioned(r *kgo.Record, _ int32) {
	if r.Partition == 0 {
		<-s.ending
	}
}

// Enabled, Handle, WithAttrs and WithGroup implement slog.Handler: kgo says so
// when it waits for what is buffered.
func (s *straggler) Enabled(context.Context, slog.Level) bool { return true }
func (s *straggler) WithAttrs([]slog.Attr) slog.Handler       { return s }
func (s *straggler) WithGroup(string) slog.Handler            { return s }
func (s *straggler) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "state set to aborting") {
		s.end()
	}
	return nil
}

func TestACommitWaitsUntilTheClientKnowsThePartitionsItWroteTo(t *testing.T) {
	fake, c := startTwoBrokers(t)
	s := newStraggler(c.Topics.Journal())
	cfg := c.Config
	cfg.Hook, cfg.Logger = s, slog.New(s)
	txn, err := kafka.NewTxn(cfg, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer txn.Close()
	ctx := t.Context()
	if err := txn.Fence(ctx); err != nil {
		t.Fatal(err)
	}
	if err := txn.Run(ctx, records(c, "first"), nil); err != nil {
		t.Fatal(err)
	}
	if p := fake.PartitionInfo(c.Topics.Journal(), 1); p.HighWatermark != 2 {
		t.Fatalf("the partition ends at %d, want a record and a marker", p.HighWatermark)
	}
	if got := committed(t, c, 1); !slices.Equal(got, []string{"first"}) {
		t.Errorf("committed records %q", got)
	}
}

// startTwoBrokers is a cluster where journal partition 1 is on another broker
// than partition 0.
func startTwoBrokers(t *testing.T) (*kfake.Cluster, *brokertest.Cluster) {
	t.Helper()
	fake, c := brokertest.StartFake(t, topics.Options{Partitions: 2}, kfake.NumBrokers(2))
	for p := range int32(2) {
		if err := fake.MoveTopicPartition(c.Topics.Journal(), p, p); err != nil {
			t.Fatal(err)
		}
	}
	return fake, c
}
