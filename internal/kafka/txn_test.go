package kafka_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

func TestATransactionWritesRecordsAndPositionsTogether(t *testing.T) {
	c, ctx := start(t)
	m := joinPlanner(t, c, false)
	txn := fence(t, c, 1)
	if err := txn.Run(ctx, records(c, "a", "b"), m.commit(c, 42)); err != nil {
		t.Fatal(err)
	}
	if got := committed(t, c, 2); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("committed records %q", got)
	}
	awaitCommit(t, c, c.Topics.Inbox(), 1, 42)
	awaitCommit(t, c, c.Topics.Journal(), 1, 43)
}

func TestPositionsAreCommittedInServerSideGroupsToo(t *testing.T) {
	c, ctx := start(t)
	m := joinPlanner(t, c, true)
	txn := fence(t, c, 1)
	for i := range 3 {
		if err := txn.Run(ctx, records(c, "a"), m.commit(c, int64(100+i))); err != nil {
			t.Fatal(err)
		}
	}
	awaitCommit(t, c, c.Topics.Inbox(), 1, 102)
}

func TestATransactionNeedsNoPositions(t *testing.T) {
	c, ctx := start(t)
	txn := fence(t, c, 1)
	if err := txn.Run(ctx, records(c, "takeover"), nil); err != nil {
		t.Fatal(err)
	}
	if got := committed(t, c, 1); !slices.Equal(got, []string{"takeover"}) {
		t.Errorf("committed records %q", got)
	}
}

func TestAWrongGenerationAbortsAndMayBeTriedAgain(t *testing.T) {
	for _, serverSide := range []bool{false, true} {
		c, ctx := start(t)
		m := joinPlanner(t, c, serverSide)
		txn := fence(t, c, 1)
		stale := m.commit(c, 7)
		stale.Generation += 5
		wantOutcome(t, txn.Run(ctx, records(c, "void"), stale), kafka.NotMember)
		stranger := m.commit(c, 7)
		stranger.Member = "nobody"
		wantOutcome(t, txn.Run(ctx, records(c, "void"), stranger), kafka.NotMember)
		if err := txn.Run(ctx, records(c, "lawful"), m.commit(c, 8)); err != nil {
			t.Fatalf("server side %v: the next transaction: %v", serverSide, err)
		}
		if got := committed(t, c, 1); !slices.Equal(got, []string{"lawful"}) {
			t.Errorf("server side %v: committed records %q: an aborted one was read", serverSide, got)
		}
		awaitCommit(t, c, c.Topics.Inbox(), 1, 8)
	}
}

func TestTheNextFenceDeposesTheOwner(t *testing.T) {
	c, ctx := start(t)
	m := joinPlanner(t, c, false)
	old := fence(t, c, 1)
	if err := old.Run(ctx, records(c, "1"), m.commit(c, 1)); err != nil {
		t.Fatal(err)
	}
	lawful := fence(t, c, 1)
	wantOutcome(t, old.Run(ctx, records(c, "void"), m.commit(c, 2)), kafka.Deposed)
	if old.Fenced() {
		t.Error("a deposed owner still believes that it is not")
	}
	wantOutcome(t, old.Run(ctx, records(c, "void"), nil), kafka.Deposed)
	if err := lawful.Run(ctx, records(c, "2"), m.commit(c, 3)); err != nil {
		t.Fatalf("the deposed owner disturbed the lawful one: %v", err)
	}
	if got := committed(t, c, 2); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("committed records %q", got)
	}
	awaitCommit(t, c, c.Topics.Inbox(), 1, 3)
}

func TestAFenceDeposesAnOwnerInTheMiddleOfItsTransaction(t *testing.T) {
	c, ctx := start(t)
	names := c.Topics.Names
	zombie := rawTransaction(t, c, names.PlannerTxn(1))
	if err := zombie.ProduceSync(ctx, records(c, "open")...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	lawful := fence(t, c, 1)
	if err := lawful.Run(ctx, records(c, "lawful"), nil); err != nil {
		t.Fatal(err)
	}
	if got := committed(t, c, 1); !slices.Equal(got, []string{"lawful"}) {
		t.Errorf("committed records %q", got)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("readers waited %v for the dead transaction", d)
	}
	if err := zombie.EndTransaction(ctx, kgo.TryCommit); !kafka.IsFenced(err) {
		t.Errorf("the zombie's commit: %v, want it fenced", err)
	}
	// kgo may try to recover its producer id; the broker must not let it.
	err := zombie.EndTransaction(ctx, kgo.TryAbort)
	t.Logf("the zombie's abort: %v", err)
	if err := zombie.BeginTransaction(); err == nil {
		err = zombie.ProduceSync(ctx, records(c, "void")...).FirstErr()
		t.Logf("the zombie's next produce: %v", err)
	}
	if err := lawful.Run(ctx, records(c, "still lawful"), nil); err != nil {
		t.Errorf("a zombie that recovered deposed the lawful owner: %v", err)
	}
}

func TestATooLargeRecordFailsTheTransactionOnly(t *testing.T) {
	c, ctx := start(t)
	txn := fence(t, c, 1)
	rs := records(c, "small")
	rs = append(rs, kafka.Placed(c.Topics.State(), 1, nil, make([]byte, 5<<20)))
	wantOutcome(t, txn.Run(ctx, rs, nil), kafka.TooLarge)
	if err := txn.Run(ctx, records(c, "next"), nil); err != nil {
		t.Fatal(err)
	}
	if got := committed(t, c, 1); !slices.Equal(got, []string{"next"}) {
		t.Errorf("committed records %q", got)
	}
}

func TestAnEndedContextLeavesTheTxnUsable(t *testing.T) {
	c, ctx := start(t)
	txn := fence(t, c, 1)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := txn.Run(ended, records(c, "void"), nil); err == nil {
		t.Fatal("a transaction committed under an ended context")
	}
	if err := txn.Run(ctx, records(c, "next"), nil); err != nil {
		t.Fatal(err)
	}
	if got := committed(t, c, 1); !slices.Equal(got, []string{"next"}) {
		t.Errorf("committed records %q", got)
	}
}

func start(t *testing.T) (*brokertest.Cluster, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return brokertest.Start(t, topics.Options{Partitions: 2}), ctx
}

func fence(t *testing.T, c *brokertest.Cluster, partition int32) *kafka.Txn {
	t.Helper()
	txn, err := kafka.NewTxn(c.Config, partition)
	if err != nil {
		t.Fatal(err)
	}
	if err := txn.Fence(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(txn.Close)
	return txn
}

func rawTransaction(t *testing.T, c *brokertest.Cluster, id string) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Config.Brokers...), kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	return cl
}

// records are one record for journal partition 1 per value.
func records(c *brokertest.Cluster, values ...string) []*kgo.Record {
	var rs []*kgo.Record
	for _, v := range values {
		rs = append(rs, kafka.Placed(c.Topics.Journal(), 1, []byte("k"), []byte(v)))
	}
	return rs
}

// committed reads n records of journal partition 1 as every reader does.
func committed(t *testing.T, c *brokertest.Cluster, n int) (values []string) {
	t.Helper()
	cl, err := kafka.NewPartitionConsumer(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{c.Topics.Journal(): {1: kgo.NewOffset().AtStart()}})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for len(values) < n {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatalf("after %q: %v", values, err)
		}
		for _, r := range fs.Records() {
			values = append(values, string(r.Value))
		}
	}
	return values
}

func wantOutcome(t *testing.T, err error, want kafka.Outcome) {
	t.Helper()
	te, ok := errors.AsType[*kafka.TxnError](err)
	if !ok || te.Outcome != want {
		t.Fatalf("got %v, want the outcome %q", err, want)
	}
}

// awaitCommit waits until the group's offset is as wanted: it becomes visible
// only some time after the transaction ended.
func awaitCommit(t *testing.T, c *brokertest.Cluster, topic string, partition int32, want int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	adm := kadm.NewClient(c.Admin(t))
	var last int64 = -2
	for ctx.Err() == nil {
		offsets, err := adm.FetchOffsets(ctx, c.Topics.PlannerGroup())
		if err != nil {
			t.Fatal(err)
		}
		o, _ := offsets.Lookup(topic, partition)
		if last = o.At; last == want {
			return
		}
	}
	t.Fatalf("committed offset of %s/%d is %d, want %d", topic, partition, last, want)
}

// member is a planner in its group.
type member struct {
	cl       *kgo.Client
	assigned chan []int32
}

func joinPlanner(t *testing.T, c *brokertest.Cluster, serverSide bool) *member {
	t.Helper()
	m := &member{assigned: make(chan []int32, 16)}
	var err error
	m.cl, err = kafka.NewPlannerMember(c.Config, serverSide, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.cl.Close)
	select {
	case <-m.assigned:
	case <-time.After(10 * time.Second):
		t.Fatal("the group assigned nothing in 10 s")
	}
	return m
}

func (m *member) Assigned(_ context.Context, _ string, ps []int32) { m.assigned <- ps }
func (m *member) Revoked(context.Context, string, []int32)         {}
func (m *member) Lost(context.Context, string, []int32)            {}

// commit is positions of the three input logs of partition 1.
func (m *member) commit(c *brokertest.Cluster, at int64) *kafka.Commit {
	id, generation := m.cl.GroupMetadata()
	return &kafka.Commit{
		Group: c.Topics.PlannerGroup(), Member: id, Generation: generation,
		Positions: map[string]map[int32]kafka.Position{
			c.Topics.Commands(): {1: {Offset: at, LeaderEpoch: -1}},
			c.Topics.Inbox():    {1: {Offset: at, LeaderEpoch: 0, Metadata: "m"}},
			c.Topics.Journal():  {1: {Offset: at + 1, LeaderEpoch: 0}},
		},
	}
}
