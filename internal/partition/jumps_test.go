package partition

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
)

// uncheckpointed is a cluster whose coordinator is away while it is told so: no
// checkpoint commits, but takeovers do.
type uncheckpointed struct {
	Cluster
	away *atomic.Bool
}

// Txn implements Cluster.
func (c uncheckpointed) Txn(p int32) (Txn, error) {
	x, err := c.Cluster.Txn(p)
	return uncheckpointedTxn{x, c.away}, err
}

type uncheckpointedTxn struct {
	Txn
	away *atomic.Bool
}

// Run implements Txn.
func (x uncheckpointedTxn) Run(ctx context.Context, records []*kgo.Record, commit *kafka.Commit) error {
	if len(records) > 1 && x.away.Load() {
		return &kafka.TxnError{Outcome: kafka.Failed, Err: errors.New("the coordinator is away")}
	}
	return x.Txn.Run(ctx, records, commit)
}

// A checkpoint's cursor is of before a jump, also for the partition's next owner on a
// store that has the jump, and whose checkpoints failed since.
func TestJ3ACursorFromBeforeAJumpIsOfNoUseBehindIt(t *testing.T) {
	inBubble(t, func(r *rig) {
		var away atomic.Bool
		r.settings.NeverRunsTwice = true
		r.over = func(c Cluster) Cluster { return uncheckpointed{c, &away} }
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 5)
		r.settled("w")
		a.leave()
		read := r.end(r.names.Commands(), p)
		r.remake(r.names.Commands())
		away.Store(true)
		b := r.start("a", p)
		b.await(Owning)
		<-time.After(3 * time.Second) // the jump is in the store
		b.loseAll()
		away.Store(false)
		for range read + 2 {
			r.send("w", "input", `{"input": 7}`)
		}
		c := r.start("a", p)
		defer c.leave()
		if n := r.has(p, "InputLogTruncated"); n != 1 {
			t.Errorf("%d records say that the commands were made anew, want 1", n)
		}
		r.do("w", "input", `{"input": 7}`)
		if sum, want := r.settled("w"), 7*(5+read+3); sum != want {
			t.Errorf("sum is %d, want %d: %d acknowledged commands were never read", sum, want, (want-sum)/7)
		}
	})
}

// What is dropped leaves no record: a checkpoint's cursor alone knows what was
// read there, and notices that the log lost it and got something else.
func TestACommandInThePlaceOfADroppedOneIsNoticed(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		a := r.start("a")
		defer a.leave()
		for range 4 { // the third and fourth were dropped; then there was no fifth
			r.sendAs("again", 0, "w", "input", `{"input": 7}`)
			<-time.After(time.Second)
		}
		r.send("w", "input", `{"input": 7}`)
		read, err := newReader(kafkaCluster{r.cluster.Config}, a.adm)
		r.must(err)
		defer read.close()
		at := func(offset int64) *kgo.Record {
			k, err := read.one(context.Background(), r.names.Commands(), 0, offset)
			r.must(err)
			return k
		}
		print := func(k *kgo.Record) uint32 { return loop.Fingerprint(loop.DigestOf(k), k.Timestamp.UnixMilli()) }
		for what, c := range map[string]struct {
			loop.Reached
			same bool
		}{
			"the last one is in its place":      {loop.Reached{Next: 4, Last: print(at(3))}, true},
			"an equal one is in its place":      {loop.Reached{Next: 4, Last: print(at(2))}, false},
			"another one is in its place":       {loop.Reached{Next: 5, Last: print(at(3))}, false},
			"of the last one nothing is known":  {loop.Reached{Next: 4, Last: 0}, true},
			"nothing was dropped, all is there": {loop.Reached{Next: 2, Last: print(at(1))}, true},
		} {
			l := loop.InputLog{Next: c.Next, Last: c.Last, Row: loop.PositionRow{Next: 2, Digest: loop.DigestOf(at(1))}}
			tenure := &tenure{o: &Owner{}, host: a.Host, read: read, proc: &loop.Processor{}}
			*tenure.proc.Input(events.FromCommands) = l
			e, resume, err := tenure.inspect(context.Background(), events.FromCommands)
			r.must(err)
			if cut, ok := e.(*events.InputLogTruncated); ok == c.same || ok && (resume != 2 || cut.Resume != 2) {
				t.Errorf("%s: said %+v, to be read on at %d", what, e, resume)
			}
		}
	})
}

// Two commands of one content are two, by their ids, which no digest knows.
func TestAnEqualCommandInThePlaceOfADecidedOneIsNoticed(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		a := r.start("a")
		defer a.leave()
		r.send("w", "input", `{"input": 7}`)
		read, err := newReader(kafkaCluster{r.cluster.Config}, a.adm)
		r.must(err)
		defer read.close()
		k, err := read.one(context.Background(), r.names.Commands(), 0, 0)
		r.must(err)
		for late, same := range map[int64]bool{0: true, 1: false} {
			tenure := &tenure{o: &Owner{}, host: a.Host, read: read, proc: &loop.Processor{}}
			l := tenure.proc.Input(events.FromCommands)
			l.Next, l.Row = 1, loop.PositionRow{Next: 1, Digest: loop.DigestOf(k), Time: k.Timestamp.UnixMilli() - late}
			e, resume, err := tenure.inspect(context.Background(), events.FromCommands)
			r.must(err)
			if _, ok := e.(*events.InputLogTruncated); ok == same || resume != 0 {
				t.Errorf("stamped %d ms after the one that was read: said %+v, to be read on at %d", late, e, resume)
			}
		}
	})
}
