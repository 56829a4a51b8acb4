package kafka_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/kafka"
)

// Positions that the coordinator does not take in time end their transaction, not
// the next one, which goes without them (C4).
func TestPositionsThatNobodyTakesEndTheirTransactionOnly(t *testing.T) {
	fake, c := startTwoBrokers(t)
	txn := fence(t, c, 1)
	ctx := t.Context()
	fake.ControlKey(kmsg.TxnOffsetCommit.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		asked := req.(*kmsg.TxnOffsetCommitRequest)
		resp := asked.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
		for _, topic := range asked.Topics {
			rt := kmsg.NewTxnOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				rp := kmsg.NewTxnOffsetCommitResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, kerr.CoordinatorNotAvailable.Code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
	commit := &kafka.Commit{
		Group: c.Topics.PlannerGroup(), Member: "m", Generation: 1, Within: 300 * time.Millisecond,
		Positions: map[string]map[int32]kafka.Position{c.Topics.Inbox(): {1: {Offset: 7, LeaderEpoch: -1}}},
	}
	began := time.Now()
	wantOutcome(t, txn.Run(ctx, records(c, "void"), commit), kafka.NoPositions)
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
	if err := txn.Run(ctx, records(c, "lawful"), nil); err != nil {
		t.Fatal(err)
	}
	if got := committed(t, c, 1); !slices.Equal(got, []string{"lawful"}) {
		t.Errorf("committed records %q", got)
	}
}

// The coordinator gets no longer than either bound says, and a moment in any case.
func TestPatienceWithTheCoordinatorIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func(d time.Duration) time.Time { return time.Now().Add(d) }
		for name, c := range map[string]struct {
			commit kafka.Commit
			want   time.Duration
		}{
			"no bound":      {kafka.Commit{}, 10 * time.Second},
			"within":        {kafka.Commit{Within: time.Second}, time.Second},
			"until":         {kafka.Commit{Until: in(2 * time.Second)}, 2 * time.Second},
			"until, sooner": {kafka.Commit{Within: 3 * time.Second, Until: in(2 * time.Second)}, 2 * time.Second},
			"until, later":  {kafka.Commit{Within: time.Second, Until: in(2 * time.Second)}, time.Second},
			"until, over":   {kafka.Commit{Within: time.Second, Until: in(-time.Second)}, 250 * time.Millisecond},
		} {
			if got := c.commit.Patience(); got != c.want {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	})
}
