package partition

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// sickAdmin answers as a cluster does of whose partitions one has no leader: that
// one is missing, or in error, and the rest is there.
type sickAdmin struct {
	Admin
	sick int32
	gone bool
}

func (s sickAdmin) of(all kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	for _, partitions := range all {
		o, ok := partitions[s.sick]
		switch {
		case !ok:
		case s.gone:
			delete(partitions, s.sick)
			err = &kadm.ShardErrors{Name: "ListOffsets", Errs: []kadm.ShardError{{Err: kerr.LeaderNotAvailable}}}
		default:
			o.Err = kerr.LeaderNotAvailable
			partitions[s.sick] = o
		}
	}
	return all, err
}

func (s sickAdmin) ListStartOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	return s.of(s.Admin.ListStartOffsets(ctx, topics...))
}

func (s sickAdmin) ListEndOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	return s.of(s.Admin.ListEndOffsets(ctx, topics...))
}

func (s sickAdmin) ListCommittedOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	return s.of(s.Admin.ListCommittedOffsets(ctx, topics...))
}

// sickCluster is one of whose partitions one has no leader, and some transactional
// ids no coordinator.
type sickCluster struct {
	Cluster
	sick    int32
	gone    bool
	unruled int32 // partitions below have no coordinator
}

func (c sickCluster) Admin() (Admin, error) {
	a, err := c.Cluster.Admin()
	return sickAdmin{a, c.sick, c.gone}, err
}

type unruledTxn struct{ Txn }

func (unruledTxn) Fence(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (c sickCluster) Txn(p int32) (Txn, error) {
	txn, err := c.Cluster.Txn(p)
	if p < c.unruled {
		return unruledTxn{txn}, err
	}
	return txn, err
}

// A partition without a leader is a matter of its owner: others recover, answer
// queries, and lose attempts whose worker vanished.
func TestAPartitionWithoutALeaderConcernsItsOwnerAlone(t *testing.T) {
	for name, gone := range map[string]bool{"in error": false, "missing": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				p := r.partitionOf("w")
				sick := (p + 1) % r.n
				r.over = func(c Cluster) Cluster { return sickCluster{Cluster: c, sick: sick, gone: gone} }
				r.adder()
				a := r.start("a", p)
				defer a.leave()
				a.await(Owning)
				r.do("w", "start", `{"definition":"counter"}`)
				r.do("w", "input", `{"input": 7}`)
				if sum := r.settled("w"); sum != 7 {
					t.Errorf("sum is %d", sum)
				}
			})
		})
	}
}
