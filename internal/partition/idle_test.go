package partition

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
)

// countedTxns is a cluster whose transactions are counted.
type countedTxns struct {
	Cluster
	mu      sync.Mutex
	runs    int
	commits int
	records map[string]int // by topic
}

func (c *countedTxns) Txn(p int32) (Txn, error) {
	t, err := c.Cluster.Txn(p)
	return &countedTxn{t, c}, err
}

func (c *countedTxns) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs, c.commits, c.records = 0, 0, map[string]int{}
}

type countedTxn struct {
	Txn
	c *countedTxns
}

func (t *countedTxn) Run(ctx context.Context, records []*kgo.Record, commit *kafka.Commit) error {
	t.c.mu.Lock()
	t.c.runs++
	if commit != nil {
		t.c.commits++
	}
	for _, r := range records {
		t.c.records[r.Topic]++
	}
	t.c.mu.Unlock()
	return t.Txn.Run(ctx, records, nil)
}

// An idle partition renews its lease and writes nothing else: what its last checkpoint
// has said is not said again, but for once an hour (FullCheckpoint), so that no broker
// takes its committed positions for forgotten.
func TestAnIdlePartitionWritesItsLeaseOnly(t *testing.T) {
	inBubble(t, func(r *rig) {
		const lasts, full = 10 * time.Minute, 4 * time.Minute
		counted := &countedTxns{}
		counted.reset()
		r.over = func(c Cluster) Cluster { counted.Cluster = c; return counted }
		r.member, r.settings = "m", loop.Settings{FullCheckpoint: full}
		p := r.partitionOf("w")
		a := r.start("a", p)
		defer a.leave()
		r.do("w", "start", `{"definition":"counter"}`)
		<-time.After(time.Minute)
		inbox := r.end(r.names.Inbox(), p)
		counted.reset()
		<-time.After(lasts)
		moved := int(r.end(r.names.Inbox(), p) - inbox) // by records that are sent for their stamp
		counted.mu.Lock()
		defer counted.mu.Unlock()
		renewals := int(lasts / (a.Settings.Lease / 3))
		if n := counted.records[r.names.Authority()]; n != counted.runs || n < renewals-1 || n > renewals+moved+2 {
			t.Errorf("%d leases were published in %d transactions, want about %d", n, counted.runs, renewals)
		}
		again, most := int(lasts/full), int(lasts/full)+1+2*moved
		if n := counted.commits; n < again || n > most {
			t.Errorf("positions were committed %d times, want %d to %d", n, again, most)
		}
		if n := counted.records[r.names.State()]; n < counted.commits || n > most+again+1 { // the row of a position goes with all
			t.Errorf("%d records of the changelog were written with %d markers", n, counted.commits)
		}
		if len(counted.records) != 2 {
			t.Errorf("written were %v", counted.records)
		}
	})
}
