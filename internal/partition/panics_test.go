package partition

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// defectiveCluster is one whose takeovers of one partition meet a defect of ours.
type defectiveCluster struct {
	Cluster
	p     int32
	falls *atomic.Int32
}

type defectiveTxn struct {
	Txn
	falls *atomic.Int32
}

func (t defectiveTxn) Run(ctx context.Context, records []*kgo.Record, commit *kafka.Commit) error {
	if t.falls.Add(-1) >= 0 {
		panic("a takeover that cannot be")
	}
	return t.Txn.Run(ctx, records, commit)
}

func (c defectiveCluster) Txn(p int32) (Txn, error) {
	txn, err := c.Cluster.Txn(p)
	if p == c.p {
		txn = defectiveTxn{txn, c.falls}
	}
	return txn, err
}

// A panic outside of decisions ends a tenure and nothing else. One that repeats at the
// same place blocks the partition, and is shown, until it does not.
func TestAPanicEndsATenureAndBlocksWhenItRepeats(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		other := (p + 1) % r.n
		falls := &atomic.Int32{}
		falls.Store(3)
		r.over = func(c Cluster) Cluster { return defectiveCluster{c, p, falls} }
		s := r.start("a", p, other)
		defer s.leave()
		at := s.await(Blocked)
		if !strings.Contains(at.Why, "a takeover that cannot be") || !strings.Contains(at.Why, "defectiveTxn.Run") {
			t.Errorf("it is blocked as %q", at.Why)
		}
		if got := s.owners[1].Status(); got.State == Blocked || got.State == Ended {
			t.Errorf("the other partition is %+v", got)
		}
		s.await(Owning)
		r.do("w", "start", `{"definition":"counter"}`)
	})
}

// A checkpoint that meets a defect ends the tenure, too.
func TestAPanicOfACheckpointEndsATenure(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		falls := &atomic.Int32{}
		r.over = func(c Cluster) Cluster { return defectiveCluster{c, p, falls} }
		s := r.start("a", p)
		defer s.leave()
		s.await(Owning)
		falls.Store(1)
		r.do("w", "start", `{"definition":"counter"}`)
		for n := 0; s.owners[0].Status().Epoch != 2; n++ {
			if <-time.After(100 * time.Millisecond); n == 300 {
				t.Fatalf("the partition is %+v", s.owners[0].Status())
			}
		}
		if got := r.do("w", "input", `{"input":7}`); got.Refusal != nil {
			t.Errorf("behind it an input got %+v", got.Refusal)
		}
	})
}

// A record that counts and cannot be decoded blocks the partition, with its place, and nothing is written behind it.
func TestPS04AnUnreadableRecordBlocksWithItsPlace(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		a := r.start("a", p)
		r.counted("w", 1)
		a.leave()
		last := r.lawful(p)
		at := last[len(last)-1].Position
		at.Seq++
		k := journal.Encode(&events.Record{Position: at, Workflow: "w", Time: 1, Events: []events.Event{&events.CheckpointRequested{}}}, r.names, p)
		k.Value = []byte("\xff of another format")
		r.must(r.producer.ProduceSync(context.Background(), k).FirstErr())
		b := r.start("a", p)
		defer b.loseAll()
		if got := b.await(Blocked); !strings.Contains(got.Why, fmt.Sprintf("offset %d", k.Offset)) || !strings.Contains(got.Why, "cannot be decoded") {
			t.Errorf("it is blocked as %q, the record is at %d", got.Why, k.Offset)
		}
		<-time.After(time.Minute)
		if end := r.end(r.names.Journal(), p); end != k.Offset+1 {
			t.Errorf("the journal ends at %d, behind the record at %d", end, k.Offset)
		}
	})
}

// Records of the changelog that no checkpoint writes are skipped and counted.
func TestStrayKeysOfTheChangelogAreSkipped(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 2)
		if sum := r.settled("w"); sum != 14 {
			t.Fatalf("sum is %d", sum)
		}
		a.leave()
		r.forgetIn("a", p)
		for _, key := range []string{"no key of a row", string(rows.Key{Table: rows.Metadata, A: 1}.Append(nil))} {
			k := kafka.Placed(r.names.State(), p, []byte(key), []byte("x"))
			r.must(r.producer.ProduceSync(context.Background(), k).FirstErr())
		}
		b := r.start("a", p)
		defer b.leave()
		if sum, _ := r.query("w"); sum != 14 {
			t.Errorf("sum is %d", sum)
		}
		if n := b.Stats.Strays.Load(); n != 2 {
			t.Errorf("%d records were skipped, want 2", n)
		}
	})
}
