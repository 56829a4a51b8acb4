package topics_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

func TestApplyTwiceChangesNothingTheSecondTime(t *testing.T) {
	ctx, cl := emptyBroker(t)
	set := newSet(t, topics.Options{Partitions: 3})
	var mismatch *topics.MismatchError
	if err := set.Check(ctx, cl); !errors.As(err, &mismatch) || len(mismatch.Differences) != len(set.Desired()) {
		t.Fatalf("an empty cluster: %v", err)
	}
	changed, err := set.Apply(ctx, cl)
	if err != nil {
		t.Fatal(err)
	}
	if len(changed) != len(set.Desired()) {
		t.Errorf("changed %d, want every topic created", len(changed))
	}
	changed, err = set.Apply(ctx, cl)
	if err != nil || len(changed) != 0 {
		t.Errorf("the second time: %v, %v", changed, err)
	}
	if err := set.Check(ctx, cl); err != nil {
		t.Error(err)
	}
}

func TestCheckNamesTopicAndSettingAndApplyMendsThem(t *testing.T) {
	ctx, cl := emptyBroker(t)
	set := newSet(t, topics.Options{Partitions: 3})
	if _, err := set.Apply(ctx, cl); err != nil {
		t.Fatal(err)
	}
	short := "1000"
	alter := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &short}}
	if _, err := kadm.NewClient(cl).AlterTopicConfigs(ctx, alter, set.Journal()); err != nil {
		t.Fatal(err)
	}
	deletes, err := set.CheckToRun(ctx, cl)
	if err != nil || len(deletes) != 1 || !deletes[0].Deletes || deletes[0].Topic != set.Journal() || deletes[0].Setting != "retention.ms" {
		t.Errorf("a service is told %v, %v", deletes, err)
	}
	err = set.Check(ctx, cl)
	for _, want := range []string{"heddle.journal", "retention.ms is 1000, want -1: the cluster deletes records that may not be read yet", "heddle topics apply --prefix heddle."} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if _, err := set.Apply(ctx, cl); err != nil {
		t.Fatal(err)
	}
	if err := set.Check(ctx, cl); err != nil {
		t.Errorf("after apply: %v", err)
	}
}

// Topics that are read as a whole are compacted soon: that a cluster has them grow
// stops no service, is named, and is fixed.
func TestWhatGrowsIsNamedAndFixed(t *testing.T) {
	ctx, cl := emptyBroker(t)
	set := newSet(t, topics.Options{Partitions: 3})
	if _, err := set.Apply(ctx, cl); err != nil {
		t.Fatal(err)
	}
	week := "604800000"
	for _, setting := range []string{"segment.ms", "max.compaction.lag.ms"} {
		alter := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: setting, Value: &week}}
		if _, err := kadm.NewClient(cl).AlterTopicConfigs(ctx, alter, set.Authority(), set.State()); err != nil {
			t.Fatal(err)
		}
	}
	told, err := set.CheckToRun(ctx, cl)
	if err != nil || len(told) != 4 || !told[0].Grows || told[0].Deletes {
		t.Errorf("a service is told %v, %v", told, err)
	}
	err = set.Check(ctx, cl)
	for _, want := range []string{
		"heddle.authority: segment.ms is 604800000, want 600000: a client that reads it from its start has more to read",
		"heddle.state: max.compaction.lag.ms is 604800000, want 21600000",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	changed, err := set.Apply(ctx, cl)
	if err != nil || len(changed) != 4 {
		t.Fatalf("apply changes %v, %v", changed, err)
	}
	if err := set.Check(ctx, cl); err != nil {
		t.Errorf("after apply: %v", err)
	}
}

func TestThePartitionCountOfWorkflowsIsFixed(t *testing.T) {
	ctx, cl := emptyBroker(t)
	if _, err := newSet(t, topics.Options{Partitions: 3}).Apply(ctx, cl); err != nil {
		t.Fatal(err)
	}
	more := newSet(t, topics.Options{Partitions: 4})
	_, err := more.Apply(ctx, cl)
	var mismatch *topics.MismatchError
	if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), "heddle.commands: partitions is 3, want 4") {
		t.Fatalf("got %v", err)
	}
	found, err := topics.Default().Discover(ctx, cl, "heddle.")
	if err != nil {
		t.Fatal(err)
	}
	if found.Partitions() != 3 {
		t.Errorf("discovered %d partitions, want 3", found.Partitions())
	}
}

func TestQueuesCanBeAddedAndGrown(t *testing.T) {
	ctx, cl := emptyBroker(t)
	set := newSet(t, topics.Options{Partitions: 3})
	if _, err := set.Apply(ctx, cl); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time is no error
		if err := set.AddQueue(ctx, cl, "orders"); err != nil {
			t.Fatal(err)
		}
	}
	if err := set.AddQueue(ctx, cl, "or.ders"); err == nil {
		t.Error("a queue with a dot in its name was added")
	}
	found, err := topics.Default().Discover(ctx, cl, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := found.Queues(); len(got) != 2 || got[1] != "orders" {
		t.Errorf("discovered queues %q", got)
	}
	wider := newSet(t, topics.Options{Partitions: 3, QueuePartitions: 6, Queues: []string{"orders"}})
	if _, err := wider.Apply(ctx, cl); err != nil {
		t.Fatal(err)
	}
	if err := found.Check(ctx, cl); err != nil {
		t.Errorf("a queue with more partitions than wanted is a mismatch: %v", err)
	}
}

func TestWhereNobodySetUpADeploymentDiscoverSaysSo(t *testing.T) {
	ctx, cl := emptyBroker(t)
	_, err := topics.Default().Discover(ctx, cl, "other.")
	if err == nil || !strings.Contains(err.Error(), "heddle topics apply --prefix other.") {
		t.Errorf("got %v", err)
	}
}

func emptyBroker(t *testing.T) (context.Context, *kgo.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	b, err := broker.Start(ctx, broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cl, err := kafka.NewAdmin(kafka.Config{Brokers: []string{b.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cl.Close()
		cancel()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return ctx, cl
}

func newSet(t *testing.T, o topics.Options) *topics.Set {
	t.Helper()
	set, err := topics.Default().Set(o)
	if err != nil {
		t.Fatal(err)
	}
	return set
}
