package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/policy"
)

const (
	// fetchWait is how long a broker holds a fetch that finds nothing. Records
	// are answered the moment they arrive.
	fetchWait = 500 * time.Millisecond

	// partitionsWait is the same where partitions come and go: a client has one
	// fetch at a time with each broker, and an added partition waits for the
	// one under way to come back.
	partitionsWait = 100 * time.Millisecond

	// fetchBytes and fetchPartitionBytes bound what one fetch brings.
	fetchBytes          = 32 << 20
	fetchPartitionBytes = 4 << 20
)

// consumeBase are the options of every consumer: committed records only, as
// soon as there is one byte.
func consumeBase() []kgo.Opt {
	return []kgo.Opt{
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMinBytes(1),
		kgo.FetchMaxWait(fetchWait),
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(fetchPartitionBytes),
	}
}

// Assignment is told what the group gives and takes. Callbacks come one at a
// time; each must return within the session timeout, and must not close the
// client or leave the group.
type Assignment interface {
	Assigned(ctx context.Context, topic string, partitions []int32)
	Revoked(ctx context.Context, topic string, partitions []int32) // still a member: a last commit counts
	Lost(ctx context.Context, topic string, partitions []int32)    // no longer a member: write nothing
}

// NewPlannerMember makes a member of the planner group. It subscribes to
// commands only, and for membership only: it fetches nothing until the caller
// resumes the topic. One kgo client consumes either as a member of a group or
// from direct partitions; the inputs are read by NewPartitionConsumer.
//
// serverSide asks for KIP-848; use it when Features say so. The offsets of the
// group are committed by transactions only (Txn.Run).
//
// Only the coordinator's word ends the membership. One that does not answer may have
// stopped, and a new one gives every member a whole session to find it in: a request
// that hangs is given up within half of that, and a heartbeat is tried for a minute.
func NewPlannerMember(c Config, serverSide bool, a Assignment) (*kgo.Client, error) {
	names, err := c.Names()
	if err != nil {
		return nil, err
	}
	settings := topics.Default().PlannerGroupSettings()
	opts := append(consumeBase(), groupBase(names.PlannerGroup(), names.Commands(), settings, serverSide, a)...)
	opts = append(opts, kgo.RequestTimeoutOverhead(settings.SessionTimeout/2), kgo.RetryTimeoutFn(memberPatience))
	cl, err := c.client("planner", opts...)
	if err != nil {
		return nil, err
	}
	cl.PauseFetchTopics(names.Commands())
	return cl, nil
}

// memberPatience is how long the client of a planner's membership tries a request.
func memberPatience(key int16) time.Duration {
	switch key {
	case kmsg.Heartbeat.Int16():
		return time.Minute
	case kmsg.JoinGroup.Int16(), kmsg.SyncGroup.Int16(), kmsg.ConsumerGroupHeartbeat.Int16():
		return topics.Default().PlannerGroupSettings().SessionTimeout // as kgo has it
	}
	return 30 * time.Second // as kgo has it
}

// NewArchiverMember makes a member of the archivers' group. It subscribes to the journal, for membership and commits only, as
// a planner's does to commands.
func NewArchiverMember(c Config, serverSide bool, a Assignment) (*kgo.Client, error) {
	names, err := c.Names()
	if err != nil {
		return nil, err
	}
	opts := append(consumeBase(), groupBase(names.ArchiverGroup(), names.Journal(), topics.Default().ArchiverGroupSettings(), serverSide, a)...)
	cl, err := c.client("archiver", opts...)
	if err != nil {
		return nil, err
	}
	cl.PauseFetchTopics(names.Journal())
	return cl, nil
}

// NewQueueConsumer makes a worker of one task queue: a member of the queue's
// group that commits by hand and starts where the group has committed,
// else at the start of the log.
func NewQueueConsumer(c Config, queue string, serverSide bool, a Assignment) (*kgo.Client, error) {
	names, err := c.Names()
	if err != nil {
		return nil, err
	}
	if err := policy.CheckQueue(queue); err != nil {
		return nil, err
	}
	settings := topics.Default().QueueGroupSettings()
	opts := append(consumeBase(), groupBase(names.QueueGroup(queue), names.Tasks(queue), settings, serverSide, a)...)
	opts = append(opts, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	return c.client("queue-"+queue, opts...)
}

func groupBase(group, topic string, settings topics.Group, serverSide bool, a Assignment) []kgo.Opt {
	call := func(f func(context.Context, string, []int32)) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(ctx context.Context, _ *kgo.Client, parts map[string][]int32) {
			if ps := parts[topic]; len(ps) > 0 {
				f(ctx, topic, ps)
			}
		}
	}
	opts := []kgo.Opt{
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(call(a.Assigned)),
		kgo.OnPartitionsRevoked(call(a.Revoked)),
		kgo.OnPartitionsLost(call(a.Lost)),
		kgo.SessionTimeout(settings.SessionTimeout),
		kgo.HeartbeatInterval(settings.Heartbeat),
	}
	if serverSide {
		// The broker keeps the session settings (topics apply) and assigns.
		return append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	}
	return append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer()))
}

// NewPartitionConsumer makes a client that consumes the partitions it is given
// (AddConsumePartitions, RemoveConsumePartitions) from the offsets it is given.
// It never moves by itself: an offset that is not in the log (any more) is a
// fetch error, OFFSET_OUT_OF_RANGE or *kgo.ErrDataLoss, that IsDataLoss knows.
// Every poll returns that error again, at once, until the partition is removed.
func NewPartitionConsumer(c Config) (*kgo.Client, error) {
	opts := append(consumeBase(),
		kgo.FetchMaxWait(partitionsWait),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	return c.client("partitions", opts...)
}

// From says where a tail begins.
type From int

const (
	FromStart From = iota // all that is in the log
	FromEnd               // what comes from now on
)

// NewTail makes a reader of all partitions of whole topics, in no group, that
// follows them for ever. A log that starts later than expected is read from
// its start: compaction moves the embedded broker's log start.
func NewTail(c Config, from From, names ...string) (*kgo.Client, error) {
	start := kgo.NewOffset().AtStart()
	if from == FromEnd {
		start = kgo.NewOffset().AtEnd()
	}
	return c.tail(start, names)
}

// NewTailSince is NewTail from the first records on that are stamped at a time (Unix
// ms) or later.
func NewTailSince(c Config, ms int64, names ...string) (*kgo.Client, error) {
	return c.tail(kgo.NewOffset().AfterMilli(ms), names)
}

// NewWholeTail is NewTail from the start with the control records of
// transactions, without which nobody can tell that the end of a log is reached
// that ends with one.
func NewWholeTail(c Config, names ...string) (*kgo.Client, error) {
	return c.tail(kgo.NewOffset().AtStart(), names, kgo.KeepControlRecords())
}

// NewTailFrom is NewTail of one topic from an offset in each of its partitions on: nothing is missed that is
// written behind them, however late the client begins to read.
func NewTailFrom(c Config, topic string, from map[int32]int64) (*kgo.Client, error) {
	at := make(map[int32]kgo.Offset, len(from))
	for p, offset := range from { // order: each is a partition by itself
		at[p] = kgo.NewOffset().At(offset)
	}
	return c.tail(kgo.NewOffset().AtStart(), nil, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}))
}

func (c Config) tail(start kgo.Offset, names []string, more ...kgo.Opt) (*kgo.Client, error) {
	opts := append(consumeBase(),
		kgo.ConsumeTopics(names...),
		kgo.ConsumeStartOffset(start),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	return c.client("tail", append(opts, more...)...)
}
