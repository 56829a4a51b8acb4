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
)

// hangingTxns is a cluster whose checkpoints, once it is told, are on their way until
// nobody waits for them any more, ten seconds at most.
type hangingTxns struct {
	Cluster
	slow  atomic.Bool
	began chan struct{} // a value for each that is on its way
}

func (c *hangingTxns) Txn(p int32) (Txn, error) {
	t, err := c.Cluster.Txn(p)
	return &hangingTxn{t, c}, err
}

type hangingTxn struct {
	Txn
	c *hangingTxns
}

func (t *hangingTxn) Run(ctx context.Context, records []*kgo.Record, commit *kafka.Commit) error {
	if !t.c.slow.Load() {
		return t.Txn.Run(ctx, records, commit)
	}
	t.c.began <- struct{}{}
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	<-ctx.Done()
	return &kafka.TxnError{Outcome: kafka.Failed, Err: errors.New("the brokers are slow")}
}

// A checkpoint on its way holds a goodbye up no longer than that may last, and the
// release not at all: the next owner waits for no lease (O5).
func TestO5AReleaseWaitsForNoCheckpoint(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		r.settings = loop.Settings{Lease: 30 * time.Second}
		c := &hangingTxns{began: make(chan struct{}, 16)}
		r.over = func(all Cluster) Cluster { c.Cluster = all; return c }
		a := r.start("a", 0)
		a.await(Owning)
		r.do("w", "start", `{"definition":"counter"}`)
		c.slow.Store(true)
		r.do("w", "checkpoint", `{}`)
		<-c.began
		r.over = nil
		b := r.start("b", 0)
		defer b.leave()
		began := time.Now()
		gone := make(chan time.Duration, 1)
		go func() {
			a.leave()
			gone <- time.Since(began)
		}()
		b.await(Owning)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the next owner has waited for %v", took)
		}
		if took := <-gone; took > goodbye+time.Second {
			t.Errorf("the goodbye took %v", took)
		}
		if got := r.do("w", "input", `{"input":7}`); got.Refusal != nil {
			t.Errorf("behind it an input got %+v", got.Refusal)
		}
	})
}
