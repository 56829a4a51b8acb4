package partition

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
)

// gated is a cluster whose journals keep appends back while it is told to.
type gated struct {
	Cluster
	gate *gate
}

type gate struct {
	mu   sync.Mutex
	shut bool
	kept []func()
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	for _, f := range g.kept {
		f()
	}
	g.kept = nil
}

func (g *gate) pass(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		g.kept = append(g.kept, f)
		return
	}
	f()
}

func (c gated) Journals() (Producer, error) {
	p, err := c.Cluster.Journals()
	return gatedProducer{p, c.gate}, err
}

type gatedProducer struct {
	Producer
	gate *gate
}

// Produce implements Producer.
func (p gatedProducer) Produce(ctx context.Context, k *kgo.Record, done func(*kgo.Record, error)) {
	p.gate.pass(func() { p.Producer.Produce(ctx, k, done) })
}

// A checkpoint that is left between two parts, as an append has hung for too long to
// renew a lease by it, leaves what was due due: once the append is through, the rest
// is written though nobody asks again.
func TestWhatIsDueStaysDueBehindAStalledAppend(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		const workflows = 48
		lease := 4 * time.Second
		r.settings = loop.Settings{Lease: lease, CheckpointBytes: 400 << 10, FullCheckpoint: time.Hour, DirtyBytes: 64 << 20}
		slow := &slowTxns{rate: 400 << 10, state: r.names.State()}
		g := &gate{}
		r.over = func(c Cluster) Cluster { slow.Cluster = c; return gated{slow, g} }
		a := r.start("a", 0)
		epoch := a.await(Owning).Epoch
		<-time.After(2 * time.Second) // the first checkpoint is one of everything
		for i := range workflows {
			w := fmt.Sprint("m", i)
			r.do(w, "start", `{"definition":"counter"}`)
			r.do(w, "input", `{"input":"`+strings.Repeat("x", 90<<10)+`"}`)
		}
		for i := range workflows {
			r.do(fmt.Sprint("m", i), "checkpoint", `{}`)
		}
		<-time.After(time.Second) // it is being written
		before := a.Stats.Checkpoints.Load()
		g.set(true)
		r.send("m0", "input", `{"input":1}`)
		<-time.After(lease + lease/4)
		g.set(false)
		if got := a.Stats.Checkpoints.Load(); got != before {
			t.Fatalf("%d checkpoints were written meanwhile", got-before)
		}
		<-time.After(30 * time.Second)
		if got := a.owners[0].Status(); got.State != Owning || got.Epoch != epoch {
			t.Fatalf("the partition is %+v, want it owned at epoch %d", got, epoch)
		}
		a.kill()
		b := r.start("elsewhere", 0)
		defer b.leave()
		b.await(Owning)
		if n := b.Stats.Replayed.Load(); n > 5 {
			t.Errorf("%d records were replayed, of workflows that were due", n)
		}
	})
}

// failing is a cluster whose journals fail an append when they are told to, which may
// be written all the same.
type failing struct {
	Cluster
	how chan bool // the next append fails; true: it is written
}

func (c failing) Journals() (Producer, error) {
	p, err := c.Cluster.Journals()
	return failingProducer{p, c.how}, err
}

type failingProducer struct {
	Producer
	how chan bool
}

// Produce implements Producer.
func (p failingProducer) Produce(ctx context.Context, k *kgo.Record, done func(*kgo.Record, error)) {
	select {
	case written := <-p.how:
		if written {
			p.Producer.Produce(ctx, k, func(k *kgo.Record, _ error) { done(k, errors.New("no answer has come")) })
			return
		}
		done(k, errors.New("no leader has come"))
	default:
		p.Producer.Produce(ctx, k, done)
	}
}

// A timer whose record could not be appended fires in the next tenure, and one whose
// record was written after all does not fire again (J1, J5).
func TestATimerWhoseAppendFailsFiresOnce(t *testing.T) {
	for _, written := range []bool{false, true} {
		t.Run(fmt.Sprint("written ", written), func(t *testing.T) {
			inBubbleOf(t, 1, func(r *rig) {
				how := make(chan bool, 1)
				r.over = func(c Cluster) Cluster { return failing{c, how} }
				a := r.start("a", 0)
				defer a.leave()
				a.await(Owning)
				r.do("timed", "start", `{"definition":"counter"}`)
				for range 3 {
					r.do("timed", "input", `{"input":7}`)
				}
				<-time.After((looptest.TimeoutMs - 1000) * time.Millisecond)
				how <- written
				<-time.After(10 * time.Second)
				if got := a.owners[0].Status(); got.State != Owning || got.Epoch != 2 {
					t.Fatalf("the partition is %+v, want it owned by a second tenure", got)
				}
				if sum, open := r.query("timed"); sum != -3_000_000 || open != 0 {
					t.Errorf("sum is %d with %d open: want one firing each of three timers", sum, open)
				}
			})
		})
	}
}
