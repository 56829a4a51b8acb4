package plannerd

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/partition"
)

// farewell bounds the graceful end of all partitions that the group takes away:
// it has to fit the session timeout.
const farewell = 5 * time.Second

// claims are the partitions that the group has given to this planner. It is the
// group client's kafka.Assignment.
type claims struct {
	logger *slog.Logger

	mu     sync.Mutex
	ctx    context.Context // of the owners
	lose   context.CancelFunc
	host   *partition.Host
	member *kgo.Client
	owners map[int32]*partition.Owner
	closed bool
}

func newClaims(l *slog.Logger) *claims {
	return &claims{logger: l, owners: map[int32]*partition.Owner{}}
}

func (c *claims) begin(ctx context.Context, h *partition.Host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The end of ctx is a graceful one: owners outlive it until they are revoked.
	c.ctx, c.lose = context.WithCancel(context.WithoutCancel(ctx))
	c.host = h
}

func (c *claims) setMember(cl *kgo.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.member = cl
}

// metadata is the membership that committed positions name.
func (c *claims) metadata() (string, int32) {
	c.mu.Lock()
	cl := c.member
	c.mu.Unlock()
	if cl == nil {
		return "", -1
	}
	return cl.GroupMetadata()
}

// Assigned implements kafka.Assignment: recovery begins, beside the group.
func (c *claims) Assigned(_ context.Context, _ string, partitions []int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range partitions {
		if o := c.owners[p]; (o == nil || !o.Moor()) && !c.closed {
			c.owners[p] = c.host.Own(c.ctx, p)
		}
	}
	c.logger.Info("partitions assigned", "partitions", partitions)
}

// Revoked implements kafka.Assignment: a graceful end.
func (c *claims) Revoked(ctx context.Context, _ string, partitions []int32) {
	c.logger.Info("partitions revoked", "partitions", partitions)
	revoke(ctx, c.take(partitions))
}

// Lost implements kafka.Assignment: the process is no member any more. What it owns
// it keeps while it can renew the leases (decision 0029), the rest is dropped.
func (c *claims) Lost(_ context.Context, _ string, partitions []int32) {
	c.logger.Warn("the group does not know this planner any more; it keeps what it owns until another one claims it", "partitions", partitions)
	c.mu.Lock()
	all := maps.Clone(c.owners)
	c.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range partitions {
		if o := all[p]; o != nil {
			wg.Go(func() {
				if !o.Adrift() {
					c.forget(p, o)
				}
			})
		}
	}
	wg.Wait()
}

// forget drops an owner that has ended.
func (c *claims) forget(p int32, o *partition.Owner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owners[p] == o {
		delete(c.owners, p)
	}
}

// giveUp ends all owners gracefully; there may be others later.
func (c *claims) giveUp(ctx context.Context) {
	c.mu.Lock()
	left := slices.Collect(maps.Keys(c.owners))
	c.mu.Unlock()
	revoke(ctx, c.take(left))
}

func (c *claims) take(partitions []int32) map[int32]*partition.Owner {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := map[int32]*partition.Owner{}
	for _, p := range partitions {
		if o := c.owners[p]; o != nil {
			taken[p] = o
			delete(c.owners, p)
		}
	}
	return taken
}

func (c *claims) takeAll() map[int32]*partition.Owner {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	all := c.owners
	c.owners = map[int32]*partition.Owner{}
	return all
}

// revokeAll ends all owners gracefully, at the end of the process.
func (c *claims) revokeAll(ctx context.Context) { revoke(ctx, c.takeAll()) }

// loseAll ends all owners at once.
func (c *claims) loseAll() {
	c.mu.Lock()
	c.lose()
	c.mu.Unlock()
	for _, o := range c.takeAll() {
		o.Lose()
	}
}

func revoke(ctx context.Context, owners map[int32]*partition.Owner) {
	ctx, stop := context.WithTimeout(ctx, farewell)
	defer stop()
	var wg sync.WaitGroup
	for _, o := range owners {
		wg.Go(func() { o.Revoke(ctx) })
	}
	wg.Wait()
}

func (c *claims) statuses() []partition.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]partition.Status, 0, len(c.owners))
	for _, o := range c.owners {
		if s := o.Status(); s.State != partition.Ended {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b partition.Status) int { return cmp.Compare(a.Partition, b.Partition) })
	return all
}

// settled reports whether everything that was assigned is owned or blocked; with
// none it is only after the wait is over.
func (c *claims) settled(over bool) bool {
	all := c.statuses()
	for _, s := range all {
		if s.State != partition.Owning && s.State != partition.Blocked {
			return false
		}
	}
	return len(all) > 0 || over
}
