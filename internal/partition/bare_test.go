package partition

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
)

// noCoordinator is a cluster that takes no positions while the coordinator of the
// planners' group is away.
type noCoordinator struct {
	Cluster
	mu        sync.Mutex
	away      bool
	way       time.Duration // that each transaction takes to the brokers
	with      int           // transactions that brought positions while it was there
	asked     int           // and while it was away
	committed int           // transactions without positions
}

func (c *noCoordinator) Txn(p int32) (Txn, error) {
	t, err := c.Cluster.Txn(p)
	return &positionless{t, c}, err
}

type positionless struct {
	Txn
	c *noCoordinator
}

func (t *positionless) Run(ctx context.Context, records []*kgo.Record, commit *kafka.Commit) error {
	t.c.mu.Lock()
	away := t.c.away
	switch {
	case commit == nil:
		t.c.committed++
	case away:
		t.c.asked++
	default:
		t.c.with++
	}
	way := t.c.way
	t.c.mu.Unlock()
	sleep(ctx, way)
	if commit != nil && away {
		sleep(ctx, commit.Patience())
		return &kafka.TxnError{Outcome: kafka.NoPositions, Err: errors.New("the coordinator is away")}
	}
	return t.Txn.Run(ctx, records, nil)
}

func (c *noCoordinator) set(away bool, way time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.way, c.away, c.with, c.asked, c.committed = way, away, 0, 0, 0
}

// While the group has no coordinator, checkpoints go without positions and the lease
// lasts (O1 needs the fence alone); when it is back, they have positions again.
func TestC4WithoutACoordinatorCheckpointsGoWithoutPositions(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		r.settings = loop.Settings{Lease: 4 * time.Second}
		r.member = "member"
		c := &noCoordinator{}
		r.over = func(all Cluster) Cluster { c.Cluster = all; return c }
		a := r.start("a", 0)
		defer a.leave()
		epoch := a.await(Owning).Epoch
		r.do("w", "start", `{"definition":"counter"}`)
		<-time.After(5 * time.Second)
		c.set(true, 0)
		for range 12 {
			r.do("w", "input", `{"input":1}`)
			<-time.After(time.Second)
		}
		c.mu.Lock()
		asked, bare := c.asked, c.committed
		c.mu.Unlock()
		if asked == 0 || bare == 0 || bare < asked {
			t.Errorf("%d checkpoints waited for the coordinator, %d went without positions", asked, bare)
		}
		c.set(false, 0)
		<-time.After(10 * time.Second)
		c.mu.Lock()
		with := c.with
		c.mu.Unlock()
		if with == 0 {
			t.Error("the coordinator is back and gets no positions")
		}
		if got := a.owners[0].Status(); got.State != Owning || got.Epoch != epoch {
			t.Errorf("the partition is %+v, want it owned at epoch %d", got, epoch)
		}
	})
}

// A checkpoint that takes long on its way to the brokers leaves no time to wait for a
// coordinator that is away: the lease has to last until it is written again without
// positions.
func TestC4ASlowWayToTheBrokersLeavesNoTimeForAnAbsentCoordinator(t *testing.T) {
	const lease = 4 * time.Second
	inBubbleOf(t, 1, func(r *rig) {
		r.settings = loop.Settings{Lease: lease}
		r.member = "member"
		c := &noCoordinator{}
		r.over = func(all Cluster) Cluster { c.Cluster = all; return c }
		a := r.start("a", 0)
		defer a.leave()
		epoch := a.await(Owning).Epoch
		r.do("w", "start", `{"definition":"counter"}`)
		for _, away := range []bool{false, true, false} {
			c.set(away, lease/5)
			for range 15 {
				r.do("w", "input", `{"input":1}`)
				<-time.After(time.Second)
			}
			c.mu.Lock()
			with, asked, bare := c.with, c.asked, c.committed
			c.mu.Unlock()
			if away && (asked == 0 || bare < asked) || !away && with == 0 {
				t.Errorf("away %v: %d checkpoints had positions, %d waited for the coordinator, %d went without", away, with, asked, bare)
			}
			if got := a.owners[0].Status(); got.State != Owning || got.Epoch != epoch {
				t.Errorf("away %v: the partition is %+v, want it owned at epoch %d", away, got, epoch)
			}
		}
		c.set(false, 0)
	})
}
