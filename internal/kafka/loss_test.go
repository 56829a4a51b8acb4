package kafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/kafka"
)

func TestTheJournalProducerStopsForGoodOnDataLoss(t *testing.T) {
	cluster, cl := journalOnFake(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for p := range int32(2) {
		if err := cl.ProduceSync(ctx, kafka.Placed("journal", p, nil, []byte("a"))).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	cluster.ControlKey(kmsg.Produce.Int16(), refuseBatch(kerr.OutOfOrderSequenceNumber.Code))
	err := cl.ProduceSync(ctx, kafka.Placed("journal", 0, nil, []byte("b"))).FirstErr()
	if !kafka.IsDataLoss(err) {
		t.Fatalf("the lost batch: %v", err)
	}
	// The broker is fine again, and still nothing may follow the hole (J1).
	for p := range int32(2) {
		err := cl.ProduceSync(ctx, kafka.Placed("journal", p, nil, []byte("c"))).FirstErr()
		if !kafka.IsDataLoss(err) {
			t.Errorf("partition %d after the loss: %v", p, err)
		}
	}
}

func TestATooLargeRecordFailsAloneBeforeItIsSent(t *testing.T) {
	c, ctx := start(t)
	cl, err := kafka.NewJournalProducer(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	results := cl.ProduceSync(ctx,
		kafka.Placed(c.Topics.Journal(), 0, nil, []byte("a")),
		kafka.Placed(c.Topics.Journal(), 0, nil, make([]byte, 5<<20)),
		kafka.Placed(c.Topics.Journal(), 0, nil, []byte("b")))
	for _, r := range results {
		large := len(r.Record.Value) > 1<<20
		if large != kafka.IsTooLarge(r.Err) || !large && r.Err != nil {
			t.Errorf("%d bytes: %v", len(r.Record.Value), r.Err)
		}
	}
}

func TestAConsumerNeverMovesByItself(t *testing.T) {
	c, ctx := start(t)
	producer, err := kafka.NewJournalProducer(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for range 10 {
		if err := producer.ProduceSync(ctx, kafka.Placed(c.Topics.Inbox(), 0, nil, []byte("x"))).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	adm := kadm.NewClient(c.Admin(t))
	cut := kadm.Offsets{}
	cut.Add(kadm.Offset{Topic: c.Topics.Inbox(), Partition: 0, At: 5})
	if _, err := adm.DeleteRecords(ctx, cut); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]int64{"before the log's start": 3, "after the log's end": 11} {
		cl, err := kafka.NewPartitionConsumer(c.Config)
		if err != nil {
			t.Fatal(err)
		}
		cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{c.Topics.Inbox(): {0: kgo.NewOffset().At(at)}})
		fs := cl.PollFetches(ctx)
		if n := fs.NumRecords(); n != 0 {
			t.Errorf("%s: %d records, want an error", name, n)
		}
		if err := fs.Err(); !kafka.IsDataLoss(err) {
			t.Errorf("%s: %v", name, err)
		}
		cl.Close()
	}
}

func TestALogThatIsCutWhileItIsReadIsReported(t *testing.T) {
	c, ctx := start(t)
	producer, err := kafka.NewJournalProducer(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	produce := func(n int) {
		for range n {
			if err := producer.ProduceSync(ctx, kafka.Placed(c.Topics.Inbox(), 0, nil, []byte("x"))).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	produce(3)
	cl, err := kafka.NewPartitionConsumer(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{c.Topics.Inbox(): {0: kgo.NewOffset().At(0)}})
	if n := cl.PollFetches(ctx).NumRecords(); n == 0 {
		t.Fatal("nothing to read")
	}
	cl.PauseFetchTopics(c.Topics.Inbox())
	produce(10)
	cut := kadm.Offsets{}
	cut.Add(kadm.Offset{Topic: c.Topics.Inbox(), Partition: 0, At: 12})
	if _, err := kadm.NewClient(c.Admin(t)).DeleteRecords(ctx, cut); err != nil {
		t.Fatal(err)
	}
	cl.ResumeFetchTopics(c.Topics.Inbox())
	for {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			if !kafka.IsDataLoss(err) {
				t.Errorf("got %v", err)
			}
			return
		}
		fs.EachRecord(func(r *kgo.Record) {
			if r.Offset >= 12 {
				t.Fatal("the reader skipped what was cut, and said nothing")
			}
		})
	}
}

func journalOnFake(t *testing.T) (*kfake.Cluster, *kgo.Client) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	cl, err := kafka.NewJournalProducer(kafka.Config{Brokers: cluster.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cluster, cl
}

// refuseBatch answers one produce request with an error for each partition.
func refuseBatch(code int16) func(kmsg.Request) (kmsg.Response, error, bool) {
	return func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		req := kreq.(*kmsg.ProduceRequest)
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, t := range req.Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition, rp.ErrorCode, rp.BaseOffset = p.Partition, code, -1
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	}
}
