package broker_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

var few = topics.Options{Partitions: 2}

func TestARestartKeepsRecordsOffsetsAndIdentity(t *testing.T) {
	dir := t.TempDir()
	c := brokertest.StartDir(t, dir, few)
	produce(t, c, c.Topics.Journal(), "a", "b")
	before := clusterID(t, c)
	if err := c.Broker.Close(); err != nil {
		t.Fatal(err)
	}
	c = brokertest.StartDir(t, dir, few)
	wantValues(t, c, c.Topics.Journal(), "a", "b")
	if after := clusterID(t, c); after != before {
		t.Errorf("the cluster id changed from %s to %s", before, after)
	}
}

func TestACrashLosesNothingAcknowledged(t *testing.T) {
	c := brokertest.StartDir(t, t.TempDir(), few)
	var want []string
	for i := range 50 {
		want = append(want, fmt.Sprint(i))
		produce(t, c, c.Topics.Journal(), fmt.Sprint(i))
	}
	crashed := crash(t, c)
	wantValues(t, crashed, crashed.Topics.Journal(), want...)
}

func TestOneProcessPerDataDirectory(t *testing.T) {
	dir := t.TempDir()
	brokertest.StartDir(t, dir, few)
	_, err := broker.Start(t.Context(), broker.Options{Dir: dir})
	if !errors.Is(err, broker.ErrInUse) {
		t.Errorf("a second broker on the directory: %v", err)
	}
}

func TestATornTailIsCutOff(t *testing.T) {
	c := brokertest.StartDir(t, t.TempDir(), few)
	for _, v := range []string{"a", "b", "torn"} {
		produce(t, c, c.Topics.Journal(), v)
	}
	image := t.TempDir()
	if err := c.Broker.CrashImage(t.Context(), image); err != nil {
		t.Fatal(err)
	}
	segment := segmentOf(image, c.Topics.Journal())
	info, err := os.Stat(segment)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(segment, info.Size()-7); err != nil {
		t.Fatal(err)
	}
	after := brokertest.StartDir(t, image, few)
	produce(t, after, after.Topics.Journal(), "c")
	wantValues(t, after, after.Topics.Journal(), "a", "b", "c")
}

// A kill between the write of a batch and the write of its index entry.
func TestAMissingIndexEntryCommitsNoOpenTransaction(t *testing.T) {
	c := brokertest.StartDir(t, t.TempDir(), few)
	journal := c.Topics.Journal()
	produce(t, c, journal, "a")
	transact(t, c, journal, "b")
	image := imageWithinTransaction(t, c, journal)
	index := strings.TrimSuffix(segmentOf(image, journal), "dat") + "idx"
	info, err := os.Stat(index)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(index, info.Size()-15); err != nil {
		t.Fatal(err)
	}
	after := brokertest.StartDir(t, image, few)
	produce(t, after, journal, "c")
	wantValues(t, after, journal, "a", "b", "c")
	again := crash(t, after)
	wantValues(t, again, journal, "a", "b", "c")
}

func TestATransactionOpenAtACrashIsAborted(t *testing.T) {
	c := brokertest.StartDir(t, t.TempDir(), few)
	produce(t, c, c.Topics.Journal(), "a")
	open := transaction(t, c)
	if err := open.ProduceSync(t.Context(), kafka.Placed(c.Topics.Journal(), 0, nil, []byte("void"))).FirstErr(); err != nil {
		t.Fatal(err)
	}
	once := crash(t, c)
	produce(t, once, once.Topics.Journal(), "b")
	wantValues(t, once, once.Topics.Journal(), "a", "b")
	// The same producer's next commit must not cover what died with the first.
	transact(t, once, once.Topics.Journal(), "c")
	wantValues(t, once, once.Topics.Journal(), "a", "b", "c")
	twice := crash(t, once)
	wantValues(t, twice, twice.Topics.Journal(), "a", "b", "c")
}

// A kill between the making of a segment and its first whole batch, while a
// transaction of the segment before is open.
func TestATransactionBeforeAnEmptySegmentIsAborted(t *testing.T) {
	c := brokertest.StartDir(t, t.TempDir(), few)
	journal := c.Topics.Journal()
	produce(t, c, journal, "a")
	image := imageWithinTransaction(t, c, journal)
	rolled := filepath.Join(filepath.Dir(segmentOf(image, journal)), "2.dat")
	if err := os.WriteFile(rolled, []byte("torn"), 0o644); err != nil {
		t.Fatal(err)
	}
	after := brokertest.StartDir(t, image, few)
	produce(t, after, journal, "b")
	wantValues(t, after, journal, "a", "b")
	transact(t, after, journal, "c")
	again := crash(t, after)
	wantValues(t, again, journal, "a", "b", "c")
}

func TestTheNextPortIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	if _, err := broker.Start(t.Context(), broker.Options{Addr: addr}); err == nil {
		t.Fatal("started on a port that is taken")
	}
	b, err := broker.Start(t.Context(), broker.Options{Addr: addr, NextPort: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if b.Addr() == addr {
		t.Errorf("listens on %s, which is taken", addr)
	}
}

func TestTheBrokerListensOnLoopbackOnly(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "example.org:9092", "127.0.0.1:x", "127.0.0.1:70000"} {
		if b, err := broker.Start(t.Context(), broker.Options{Addr: addr}); err == nil {
			b.Close()
			t.Errorf("listens on %s", addr)
		}
	}
}

func TestRetentionIsAppliedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := brokertest.StartInBubble(t, few)
		produce(t, c, c.Topics.Queries(), "old")
		time.Sleep(11 * time.Minute)
		produce(t, c, c.Topics.Queries(), "new")
		wantValues(t, c, c.Topics.Queries(), "new")
		starts, err := kadm.NewClient(c.Admin(t)).ListStartOffsets(t.Context(), c.Topics.Queries())
		if err != nil {
			t.Fatal(err)
		}
		if o, _ := starts.Lookup(c.Topics.Queries(), 0); o.Offset != 1 {
			t.Errorf("the log starts at %d, want 1", o.Offset)
		}
	})
}

func TestCompactedTopicsKeepOldValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := brokertest.StartInBubble(t, few)
		produce(t, c, c.Topics.Definitions(), "old")
		time.Sleep(8 * 24 * time.Hour)
		wantValues(t, c, c.Topics.Definitions(), "old")
	})
}

// helpers: everything happens on partition 0, and a record's key is its value.

func produce(t *testing.T, c *brokertest.Cluster, topic string, values ...string) {
	t.Helper()
	cl, err := kafka.NewEffectsProducer(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(cl)
	for _, v := range values {
		r := kafka.Placed(topic, 0, []byte(v), []byte(v))
		if err := cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			t.Fatalf("produce %q: %v", v, err)
		}
	}
}

func transaction(t *testing.T, c *brokertest.Cluster) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Config.Brokers...), kgo.TransactionalID("txn"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	return cl
}

// imageWithinTransaction is what a kill leaves of a topic to which an open
// transaction has written a record.
func imageWithinTransaction(t *testing.T, c *brokertest.Cluster, topic string) string {
	t.Helper()
	open := transaction(t, c)
	if err := open.ProduceSync(t.Context(), kafka.Placed(topic, 0, nil, []byte("void"))).FirstErr(); err != nil {
		t.Fatal(err)
	}
	image := t.TempDir()
	if err := c.Broker.CrashImage(t.Context(), image); err != nil {
		t.Fatal(err)
	}
	return image
}

func transact(t *testing.T, c *brokertest.Cluster, topic string, value string) {
	t.Helper()
	cl := transaction(t, c)
	if err := cl.ProduceSync(t.Context(), kafka.Placed(topic, 0, []byte(value), []byte(value))).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(kafka.Published(t.Context(), cl), cl.EndTransaction(t.Context(), kgo.TryCommit)); err != nil {
		t.Fatal(err)
	}
}

func wantValues(t *testing.T, c *brokertest.Cluster, topic string, want ...string) {
	t.Helper()
	cl, err := kafka.NewTail(c.Config, kafka.FromStart, topic)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(cl)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var got []string
	for len(got) < len(want) && ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s holds %q, want %q", topic, got, want)
	}
}

// crash is the cluster after a kill at this moment.
func crash(t *testing.T, c *brokertest.Cluster) *brokertest.Cluster {
	t.Helper()
	image := t.TempDir()
	if err := c.Broker.CrashImage(t.Context(), image); err != nil {
		t.Fatal(err)
	}
	return brokertest.StartDir(t, image, few)
}

func segmentOf(dir, topic string) string {
	return filepath.Join(dir, "partitions", topic+"-0", "0.dat")
}

func clusterID(t *testing.T, c *brokertest.Cluster) string {
	t.Helper()
	m, err := kadm.NewClient(c.Admin(t)).BrokerMetadata(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m.Cluster
}
