package kafka_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// A reader of the newest records begins a few records before the end of a log that is
// long, and misses none: not where transactions that came to nothing stand at its end.
func TestTheNewestRecordsAreReadFromTheEnd(t *testing.T) {
	const written = 40
	for name, c := range map[string]struct {
		records, aborted int
		most             int // that are read
	}{
		"a long log":                       {written, 0, 8},
		"with aborts at its end":           {written, 5, 8},
		"with nothing but aborts near it":  {written, 20, written},
		"a short log":                      {3, 0, 3},
		"a short log with nothing near it": {1, 20, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := brokertest.StartInBubble(t, topics.Options{Partitions: 2})
				topic := b.Topics.Authority()
				for i := range c.records {
					transact(t, b, topic, fmt.Sprint(i), kgo.TryCommit)
				}
				for range c.aborted {
					transact(t, b, topic, "aborted", kgo.TryAbort)
				}
				tail, err := kafka.NewNewestTail(t.Context(), b.Config, topic, b.Topics.Readiness())
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close(tail)
				newest, read := fmt.Sprint(c.records-1), 0
				for value := ""; value != newest; {
					for _, r := range tail.PollFetches(t.Context()).Records() {
						value = string(r.Value)
						read++
					}
				}
				if read == 0 || read > c.most {
					t.Errorf("%d records are read, want at most %d", read, c.most)
				}
			})
		})
	}
}

// transact writes a record of partition 1 in a transaction of its own.
func transact(t *testing.T, b *brokertest.Cluster, topic, value string, end kgo.TransactionEndTry) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Config.Brokers...), kgo.Dialer(b.Config.Dialer),
		kgo.TransactionalID("writer"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(cl)
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), kafka.Placed(topic, 1, []byte("1"), []byte(value))).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := cl.EndTransaction(context.WithoutCancel(t.Context()), end); err != nil {
		t.Fatal(err)
	}
}
