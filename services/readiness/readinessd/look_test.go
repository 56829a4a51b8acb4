package readinessd

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/services/readiness"
)

// What the cluster has and planners have not is measured, and warned of until it is over.
func TestTheClusterIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := brokertest.StartInBubble(t, topics.Options{Partitions: 2})
		s, err := open(t.Context(), Config{Kafka: c.Config})
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		out, err := kafka.NewEffectsProducer(c.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		write := func(topic string, n int) {
			for range n {
				if err := out.ProduceSync(t.Context(), kafka.Placed(topic, 1, []byte("w"), []byte("{}"))).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
		}
		write(c.Topics.Commands(), 7)
		write(c.Topics.DLQ(), 3)
		commit(t, c, c.Topics.Commands(), 1, 5)
		look, err := s.look(t.Context())
		if err != nil || look.Lag[c.Topics.Commands()] != 2 || look.Lag[c.Topics.Inbox()] != 0 || look.Dead != 3 || len(look.Down) > 0 {
			t.Fatalf("got %+v, %v", look, err)
		}
		write(c.Topics.Journal(), 4)
		var o kadm.Offsets
		o.AddOffset(c.Topics.Journal(), 1, 1, -1)
		if err := kadm.NewClient(c.Admin(t)).CommitAllOffsets(t.Context(), c.Topics.ArchiverGroup(), o); err != nil {
			t.Fatal(err)
		}
		if look, err = s.look(t.Context()); err != nil || look.Lag[readiness.Archive] != 3 {
			t.Fatalf("got %+v, %v", look, err)
		}
		ended := make(chan struct{})
		watching, stop := context.WithCancel(t.Context())
		go func() { defer close(ended); _ = s.watchCluster(watching, func() {}) }() // it ends with its context only
		defer func() { stop(); <-ended }()
		warnings := func() []string {
			if _, err := s.table.derive(time.Now()); err != nil {
				t.Fatal(err)
			}
			return s.table.current().Warnings
		}
		time.Sleep(refreshEvery / 2)
		if got := warnings(); len(got) > 0 {
			t.Errorf("of what was there before: %q", got)
		}
		write(c.Topics.DLQ(), 2)
		time.Sleep(refreshEvery)
		want := []string{"2 records came to " + c.Topics.DLQ() + " within the last 5s: see heddle dlq"}
		if got := warnings(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		time.Sleep(10*time.Minute + refreshEvery)
		if got := warnings(); len(got) > 0 {
			t.Errorf("ten minutes later: %q", got)
		}
	})
}

func TestPartitionsThatLackReplicasAreNamed(t *testing.T) {
	all := kadm.TopicDetails{
		"b": {Topic: "b", Partitions: kadm.PartitionDetails{
			1: {Topic: "b", Partition: 1, Leader: -1, Replicas: []int32{1, 2}},
			0: {Topic: "b", Partition: 0, Leader: 1, Replicas: []int32{1, 2, 3}, ISR: []int32{1}},
			2: {Topic: "b", Partition: 2, Leader: 1, Replicas: []int32{1, 2, 3}, ISR: []int32{3, 1, 2}},
		}},
		"a": {Topic: "a", Partitions: kadm.PartitionDetails{0: {Topic: "a", Leader: 0, Replicas: []int32{0}, ISR: []int32{0}}}},
	}
	want := []string{
		"partition 1 of b has no leader: nothing is read from it or written to it",
		"partition 0 of b has 1 of 3 replicas in sync",
	}
	if got := down(all); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
