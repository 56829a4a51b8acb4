package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// maxBuffered bounds the records a producer holds. kgo blocks all of a
	// client's produces there, so the bound is far above what the partition
	// loops, which have bounds of their own, can have in flight.
	maxBuffered = 1 << 20
)

// produceBase are the options of every producer. A broker that waits longer than
// Patience for its replicas answers that it did, and is asked again: the records
// carry their numbers, and are written once.
func produceBase(c Config) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.RequiredAcks(kgo.AllISRAcks()),
		// kgo lingers 10 ms by default. Without it a record leaves at once,
		// and under load batches fill while earlier requests are in flight
		// (at most five a broker), which is all the batching that is needed.
		kgo.ProducerLinger(0),
		kgo.MaxBufferedRecords(maxBuffered),
		// Measured on loopback with records like ours: snappy costs less CPU per step
		// than none (fewer bytes to copy, checksum and write), lz4 a little more,
		// zstd three times as much; it halves disk and memory.
		kgo.ProducerBatchCompression(kgo.SnappyCompression(), kgo.NoCompression()),
		// Topics are checked at start. One that is missing afterwards is an
		// operator's doing and may come back; a record is not failed for it.
		kgo.UnknownTopicRetries(-1),
	}
	if c.Patience > 0 {
		opts = append(opts, kgo.ProduceRequestTimeout(c.Patience))
	}
	return opts
}

// NewJournalProducer makes the client of the journal alone: idempotent,
// acks=all, records name their partition, order kept with several requests in
// flight, no limit of retries or time.
//
// On data loss (the broker forgot what it acknowledged) kgo would renumber and
// go on; this client stops instead: the batch and everything buffered for
// that partition fail with OUT_OF_ORDER_SEQUENCE_NUMBER or the like, and every
// later produce of the client, to any partition, fails with the same error at
// once and for ever. IsDataLoss knows it. Close the client and make a new one.
//
// A limit of retries or a cancelled record context would fail a record whose
// fate is unknown, and the next one would look like data loss: so produce with
// a context that ends only when the owner gives up the partition.
func NewJournalProducer(c Config) (*kgo.Client, error) {
	opts := append(produceBase(c),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.StopProducerOnDataLossDetected(), // else there would be a hole (J1)
	)
	return c.client("journal", opts...)
}

// NewEffectsProducer makes the client of everything that is idempotent
// downstream: tasks, inbox messages, status, replies, dlq. A record goes where
// its Partition says, or, when that is ByKey, where its key belongs: use Keyed
// and Placed, since a zero Partition means partition 0. On data loss it goes on
// under a new producer epoch.
func NewEffectsProducer(c Config) (*kgo.Client, error) {
	return c.client("effects", effectsBase(c)...)
}

// effectsBase are the options of producers of what is idempotent downstream.
func effectsBase(c Config) []kgo.Opt {
	return append(produceBase(c), kgo.RecordPartitioner(keyOrPlace{}), kgo.WithHooks(&readopt{limits: c.Limits}))
}

// EffectTimeout is how long a record of NewOutboxProducer and NewSummaryProducer
// waits for its log: about so, as an answer that is on its way is waited for.
const EffectTimeout = 10 * time.Second

// answeredInTime lets a record fail whose log takes nothing, as one without a
// leader does, whether its fate is known or not: its producer has it elsewhere
// and produces it again, and its readers know it by its id.
func answeredInTime() []kgo.Opt {
	return []kgo.Opt{kgo.RecordDeliveryTimeout(EffectTimeout), kgo.AllowIdempotentProduceCancellation()}
}

// NewOutboxProducer is NewEffectsProducer for callers that bound what is on its
// way: every record is answered in bounded time, though its log is away. One that
// fails for a while may be written all the same.
func NewOutboxProducer(c Config) (*kgo.Client, error) {
	return c.client("effects", append(effectsBase(c), answeredInTime()...)...)
}

// summaryLinger is how long a summary waits for others of its partition.
const summaryLinger = 20 * time.Millisecond

// NewSummaryProducer is NewOutboxProducer for what nobody waits for and what
// comes often: the status of workflows. Its records travel together.
func NewSummaryProducer(c Config) (*kgo.Client, error) {
	opts := append(effectsBase(c), kgo.ProducerLinger(summaryLinger))
	return c.client("summaries", append(opts, answeredInTime()...)...)
}
