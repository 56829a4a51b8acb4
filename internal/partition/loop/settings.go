package loop

import "time"

// Settings are the times and bounds of a partition. Zero fields take the
// defaults of Complete.
type Settings struct {
	Lease  time.Duration // how long an acquisition or renewal lasts
	Margin time.Duration // of the lease: an owner stops releasing so long before its end

	// LeaveAfter is how long a reason of its own keeps a planner from serving
	// before it leaves the group.
	LeaveAfter time.Duration

	CheckpointInterval time.Duration // at least between two checkpoints with changes
	CheckpointShare    float64       // of time that checkpoints may take under load; the interval stretches to keep it
	FullCheckpoint     time.Duration // after which everything is due, whatever its strategy: far below the journal's retention
	CheckpointBytes    int           // at most in one transaction of a checkpoint; fewer where the brokers are slow
	DirtyBytes         int           // of rows that no checkpoint has written: above, no input is taken until a part of one is out
	LagRecords         uint64        // a dirty workflow is due once the journal is so many records ahead of replay-from

	Pools  map[string]string // by queue: the name of the pool that its attempts go to; those that are not listed go to its workers
	Shards map[string]int    // that pools have, by their names; those that are not listed have one

	Silence time.Duration // of a notified attempt's worker, after which it is lost
	Pending time.Duration // of an attempt that nobody notified, after which its record is looked up
	Ask     time.Duration // of an attempt that a pool has, after which that is asked whether it does; then after twice as long, and so on
	Sweep   time.Duration // between two looks at the open attempts

	Window time.Duration // in which a repeated id is recognised

	Archive   bool          // an archiver keeps what the journal has: what it has not committed is not deleted
	History   time.Duration // that the journal keeps behind what recovery needs; its owner deletes what is older
	TrimEvery time.Duration // between two looks at what may be deleted of the partition's logs

	InflightRecords int // appended and released, not acknowledged; the loop runs ahead so far
	InflightBytes   int
	ParkedRecords   int // that wait for one log, in memory: summaries, answers and others; the outbox has the rest
	QueueRecords    int // fetched per input log, not decided; its partition is paused above
	QueueBytes      int
	WriteDelay      time.Duration // of an acknowledged record's way to the store, for larger batches
	WriteRecords    int           // acknowledged and not in the store
	WriteBytes      int

	HotBytes int // of hot workflows, for all partitions of the process together

	RecordBytes int // the largest journal record; 0: the topic's limit

	// NeverRunsTwice promises that an instance name never runs twice at a time:
	// a new process takes its own older lease over without waiting.
	NeverRunsTwice bool
	// BrokerIsOurs says that every older owner died with the broker it wrote
	// to: no lease of another process is waited out.
	BrokerIsOurs bool
}

// ClockError is how far, in ms, the clock of an owner may differ from the broker's:
// half the margin, since effects are safe only while those of two owners differ by the margin at
// most.
func (s *Settings) ClockError() int64 { return s.Margin.Milliseconds() / 2 }

// Limits that are not settings.
const (
	QueryLimit     = 4096    // queries of one partition that wait for an answer
	timerBatch     = 512     // timers fired before inputs get their turn again
	inputBatch     = 256     // records of one input log decided before the other gets its turn
	olderReads     = 8       // remembered places of an input log, besides the last
	markEvery      = 1 << 12 // records of an input log between two of them
	reasonBytes    = 1 << 10 // of an error text in an event
	MostEpochs     = 16      // of the last owners, in each checkpoint and in what it publishes
	mostNotes      = 16      // of a published record about logs that take nothing
	RecordOverhead = 1 << 10 // of a journal record around its value: key, headers, batch
)

// Complete fills in the defaults.
func (s Settings) Complete() Settings {
	def(&s.Lease, 10*time.Second)
	def(&s.Margin, s.Lease/5)
	def(&s.LeaveAfter, 2*s.Lease)
	def(&s.CheckpointInterval, time.Second)
	def(&s.CheckpointShare, 0.1)
	def(&s.FullCheckpoint, time.Hour)
	def(&s.CheckpointBytes, 4<<20)
	def(&s.DirtyBytes, 64<<20)
	def(&s.LagRecords, 200_000)
	def(&s.Silence, 15*time.Second)
	def(&s.Pending, 30*time.Second)
	def(&s.Ask, 5*time.Minute)
	def(&s.Sweep, time.Second)
	def(&s.Window, 24*time.Hour)
	def(&s.History, 7*24*time.Hour)
	def(&s.TrimEvery, 10*time.Minute)
	def(&s.InflightRecords, 8192)
	def(&s.InflightBytes, 16<<20)
	def(&s.ParkedRecords, 4096)
	def(&s.QueueRecords, 4096)
	def(&s.QueueBytes, 4<<20)
	def(&s.WriteDelay, time.Second)
	def(&s.WriteRecords, 16_384)
	def(&s.WriteBytes, 8<<20)
	def(&s.HotBytes, 128<<20)
	return s
}

func def[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}
