package sim

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// brokers are what a Kafka cluster keeps: logs, transactions, and the offsets of
// groups. Only the scheduler asks them, one thing at a time, and every call is
// done when it returns. Records name their partition, and fit its topic.
type brokers interface {
	// append writes a record outside of transactions and says where it is.
	append(rec *kgo.Record) (offset int64, err error)

	// initialize takes a transactional id: it ends what is open and fences older
	// sessions.
	initialize(id string) (*session, error)
	// settle ends a transaction whose end its session does not know.
	settle(s *session) error
	// produce writes records in the session's transaction, which begins with them,
	// and notes in them where they are.
	produce(s *session, recs []*kgo.Record) error
	// stage adds positions to the transaction, if its member is one.
	stage(s *session, commit *kafka.Commit, member func(*kafka.Commit) error) error
	// finish is EndTxn.
	finish(s *session, commit bool) error
	// quiet reports whether the last transaction of an id is written to its end.
	quiet(id string) bool
	// open are the ids whose transaction is open, in order.
	open() []string
	// overdue ends transactions that nobody ends in time.
	overdue(now time.Time)

	// readable reports whether a reader at an offset, who knows an epoch of the log,
	// would be told something.
	readable(at place, from int64, epoch int32) bool
	// fetch are records that a read-committed reader sees from an offset on, control records
	// among them, at most so many, with the offset to go on from.
	fetch(at place, from int64, epoch int32, most int) ([]*kgo.Record, int64, error)
	// offsets are those of a topic's partitions. ms counts with stampedAt alone.
	offsets(topic string, which which, ms int64) []int64
	// epoch is that of the leader of a log.
	epoch(at place) int32

	commit(group string, at place, offset int64) // outside of transactions
	committed(group string) map[place]int64
	uncommit(group string, at place)

	// expire removes the oldest records of a log, as retention does.
	expire(at place, start int64)

	// remake deletes a topic and makes it anew, with the same settings.
	remake(t *topic)

	close()
}

// session is a producer of a transactional id, from one initialization on.
type session struct {
	id       string
	producer int64
	epoch    int
	next     map[place]int32 // sequence numbers
	wrote    bool            // there is something to end
}

// which offset of a log is meant.
type which int

const (
	starts    which = iota
	ends            // high watermarks
	stable          // how far transactions are decided
	stampedAt       // of the first record stamped at a time or later; else the end
)

// txnTimeout is when the cluster ends a transaction that nobody ends.
const txnTimeout = 10 * time.Second
