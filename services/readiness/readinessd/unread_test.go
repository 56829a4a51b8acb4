package readinessd

import (
	"context"
	"maps"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/services/readiness"
)

// keep makes a cluster delete the records of a topic by time.
func keep(t *testing.T, c *brokertest.Cluster, topic string, d time.Duration) {
	t.Helper()
	value := strconv.FormatInt(d.Milliseconds(), 10)
	all, err := kadm.NewClient(c.Admin(t)).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &value}}, topic)
	if err == nil {
		_, err = all.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// commit says that planners have read a log up to an offset.
func commit(t *testing.T, c *brokertest.Cluster, topic string, p int32, at int64) {
	t.Helper()
	o := kadm.Offsets{}
	o.Add(kadm.Offset{Topic: topic, Partition: p, At: at})
	if err := kadm.NewClient(c.Admin(t)).CommitAllOffsets(t.Context(), c.Topics.PlannerGroup(), o); err != nil {
		t.Fatal(err)
	}
}

// What no planner has read is warned about once it is older than half of the time for which
// the cluster keeps it: by what the planners have committed, and where nobody ever has.
// It is not where the cluster deletes nothing, or where all but the control record of a transaction is read.
func TestUnreadRecordsAreFoundBeforeTheyAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := brokertest.StartInBubble(t, topics.Options{Partitions: 3})
		commands, inbox := c.Topics.Commands(), c.Topics.Inbox()
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
		began := time.Now()
		write := func(topic string, p int32) {
			if err := out.ProduceSync(t.Context(), kafka.Placed(topic, p, []byte("w"), []byte("{}"))).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		want := func(what string, want map[int32]readiness.Unread) {
			t.Helper()
			found, err := s.findUnread(t.Context(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			got := map[int32]readiness.Unread{}
			for p, all := range found {
				if len(all) != 1 || all[0].Since.Sub(began).Abs() > time.Second {
					t.Errorf("%s: partition %d has %v", what, p, all)
				}
				got[p] = readiness.Unread{Topic: all[0].Topic, Since: began, Retention: all[0].Retention}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		write(commands, 0)
		write(commands, 0)
		write(commands, 1)
		write(inbox, 1)
		transacted(t, c, commands, 2)
		commit(t, c, commands, 0, 1)
		commit(t, c, commands, 1, 1)
		commit(t, c, commands, 2, 1)
		<-time.After(5 * time.Minute)
		write(commands, 1)
		want("no retention", nil)

		keep(t, c, commands, 10*time.Minute+time.Second)
		want("just half of the retention", nil)
		<-time.After(time.Minute)
		want("a minute more", map[int32]readiness.Unread{0: {Topic: commands, Since: began, Retention: 10*time.Minute + time.Second}})
		keep(t, c, inbox, 10*time.Minute)
		want("nobody has ever read", map[int32]readiness.Unread{
			0: {Topic: commands, Since: began, Retention: 10*time.Minute + time.Second},
			1: {Topic: inbox, Since: began, Retention: 10 * time.Minute},
		})
		warned := func(n int) {
			t.Helper()
			<-time.After(unreadEvery + lookTimeout)
			synctest.Wait()
			if _, err := s.table.derive(time.Now()); err != nil {
				t.Fatal(err)
			}
			if warnings := s.table.current().Warnings; len(warnings) != n {
				t.Errorf("the warnings are %q, want %d", warnings, n)
			}
		}
		watching, stop := context.WithCancel(t.Context())
		watched := make(chan error)
		go func() { watched <- s.watchUnread(watching, func() {}) }()
		warned(2)
		commit(t, c, commands, 0, 2)
		commit(t, c, inbox, 1, 1)
		warned(0)
		stop()
		if err := <-watched; err != nil {
			t.Error(err)
		}
		want("all is read", nil)
	})
}

// transacted writes a record in a transaction, whose control record stands behind it.
func transacted(t *testing.T, c *brokertest.Cluster, topic string, p int32) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Config.Brokers...), kgo.Dialer(c.Config.Dialer), kgo.TransactionalID("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), kafka.Placed(topic, p, []byte("w"), []byte("{}"))).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
}
