package partition

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
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

// A checkpoint's cursor is of before a jump, also for whoever reigns next on a
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
		print := func(k *kgo.Record) uint32 { return fingerprint(digestOf(k), k.Timestamp.UnixMilli()) }
		for what, c := range map[string]struct {
			reached
			same bool
		}{
			"the last one is in its place":      {reached{4, print(at(3))}, true},
			"an equal one is in its place":      {reached{4, print(at(2))}, false},
			"another one is in its place":       {reached{5, print(at(3))}, false},
			"of the last one nothing is known":  {reached{4, 0}, true},
			"nothing was dropped, all is there": {reached{2, print(at(1))}, true},
		} {
			l := InputLog{next: c.next, last: c.last, row: positionRow{Next: 2, Digest: digestOf(at(1))}}
			reign := &reign{o: &Owner{}, host: a.Host, read: read, proc: &Processor{}}
			*reign.proc.Input(events.FromCommands) = l
			e, resume, err := reign.inspect(context.Background(), events.FromCommands)
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
			reign := &reign{o: &Owner{}, host: a.Host, read: read, proc: &Processor{}}
			l := reign.proc.Input(events.FromCommands)
			l.next, l.row = 1, positionRow{Next: 1, Digest: digestOf(k), Time: k.Timestamp.UnixMilli() - late}
			e, resume, err := reign.inspect(context.Background(), events.FromCommands)
			r.must(err)
			if _, ok := e.(*events.InputLogTruncated); ok == same || resume != 0 {
				t.Errorf("stamped %d ms after the one that was read: said %+v, to be read on at %d", late, e, resume)
			}
		}
	})
}

// An owner may take over a log that was made anew, and end before it says so.
func TestARecreatedInputLogIsNoticedByWhoeverComesNext(t *testing.T) {
	l := &InputLog{}
	l.identify([]byte("one"))
	l.row.consume(&events.InputRef{Offset: 5})
	l.identify([]byte("another"))
	l.identify([]byte("another"))
	if !l.row.Remade {
		t.Error("the second owner knows nothing of it")
	}
	if l.jump(events.Position{Epoch: 3, Seq: 2}, 1, 0); l.row.Remade {
		t.Error("the third owner says it again")
	}
}

// Inputs that are decided behind a request to read again, before it is
// acknowledged, must not take the position past what is to be read again.
func TestARequestToReadAgainOutlastsWhatIsInFlight(t *testing.T) {
	m := newModel(t, Settings{})
	m.running("w")
	m.command("r", "_partition/0", "request_replay", `{"cursor":"commands@1","by":"ann","why":"test"}`)
	m.command("late", "w", "input", `{"input":1}`) // fetched, to be read again
	m.mustStep()
	m.ack()
	l := &m.p.inputs[events.FromCommands]
	if l.row.Next != 1 || l.durable.next != 1 {
		t.Errorf("the journal says %d is next, a checkpoint %d, want 1", l.row.Next, l.durable.next)
	}
	next := newModel(t, Settings{})
	next.replay(m, 0)
	if got := next.p.inputs[events.FromCommands].row; got.Next != 1 || got.Jumped != m.record(len(m.journal)-1).Position {
		t.Errorf("whoever comes next reads on at %+v", got)
	}
}

// A log that is sought twice is read from the second place on.
func TestWhatWasSoughtBeforeIsPassedOver(t *testing.T) {
	m := newModel(t, Settings{})
	m.running("w")
	for range 6 {
		m.input(events.FromInbox, "w", "\xff")
	}
	m.mustStep()
	m.ack()
	m.command("r", "_partition/0", "request_replay", `{"cursor":"inbox@5","by":"ann","why":"test"}`)
	m.command("s", "_partition/0", "request_replay", `{"cursor":"inbox@3","by":"ann","why":"test"}`)
	m.mustStep()
	m.ack()
	for _, at := range []int64{5, 3} {
		m.batch.Inputs[events.FromInbox] = append(m.batch.Inputs[events.FromInbox], soughtAt(at))
		m.offsets[events.FromInbox] = at
		m.input(events.FromInbox, "w", "\xff")
	}
	m.mustStep()
	m.ack()
	if got := m.p.inputs[events.FromInbox].next; got != 4 {
		t.Errorf("the inbox is read to %d, want 4", got)
	}
}

// What is lost is lost only once the journal says so.
func TestAJumpCountsInACheckpointWithItsRecord(t *testing.T) {
	m := newModel(t, Settings{})
	m.running("w")
	before := m.p.inputs[events.FromCommands].durable
	m.p.goOn(events.FromCommands, &events.InputLost{Log: events.FromCommands, Generation: 1, From: 2, To: 9}, 9, nil)
	m.p.goOn(events.FromInbox, &events.InputLogTruncated{Log: events.FromInbox, Generation: 1, Expected: 0, Resume: 0}, 0, nil)
	if got := m.p.inputs[events.FromCommands].durable; got != before {
		t.Errorf("before the acknowledgement a checkpoint says %+v", got)
	}
	m.batch.Appended = []Appended{{Seq: m.seqOf(len(m.journal) - 2), Offset: 7}} // of the first alone
	m.mustStep()
	if got := m.p.inputs[events.FromCommands].durable.next; got != 9 {
		t.Errorf("behind the first record a checkpoint says that commands are read to %d, want 9", got)
	}
}
