package partition

import (
	"sync/atomic"
	"time"

	"github.com/heddle-run/heddle/internal/partition/loop"
)

// pace finds out how much a part of a checkpoint may hold so that its transaction
// is over long before the lease is (C3): parts become smaller as long as they take
// longer than a quarter of it, and larger while they take less than an eighth. All
// partitions of a process share it, as they share the way to the brokers.
type pace struct {
	bytes atomic.Int64
	least int64
	most  int64
	lease time.Duration
}

// leastPart is what a part may always hold.
const leastPart = 64 << 10

func newPace(s *loop.Settings) *pace {
	p := &pace{most: int64(s.CheckpointBytes), lease: s.Lease}
	p.least = min(p.most, leastPart)
	p.bytes.Store(max(p.least, p.most/4))
	return p
}

// limit is how many bytes the next part may hold.
func (p *pace) limit() int { return int(p.bytes.Load()) }

// took learns from a part, whatever became of it.
func (p *pace) took(bytes int, d time.Duration) {
	limit := p.bytes.Load()
	switch {
	case d > p.lease/4:
		p.bytes.Store(max(p.least, min(limit, int64(bytes))/2))
	case d < p.lease/8 && int64(bytes) >= limit/2:
		p.bytes.Store(min(p.most, 2*limit))
	}
}
