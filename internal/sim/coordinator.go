package sim

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// coordinator is what the cluster knows about a transactional id.
type coordinator struct {
	id     string
	epoch  int
	txn    *transaction // the open one
	ending int          // marks of ended transactions that are not written yet
	began  time.Time
	staged func() // commits the positions of the open one

	commits int // so many transactions were committed
}

// txnTimeout is when the cluster ends a transaction that nobody ends.
const txnTimeout = 10 * time.Second

func (c *cluster) coordinator(id string) *coordinator {
	if c.txns[id] == nil {
		c.txns[id] = &coordinator{id: id}
	}
	return c.txns[id]
}

// initialize is InitProducerID: it ends what is open and fences older epochs.
func (c *cluster) initialize(k *coordinator) int {
	k.epoch++
	if k.txn != nil {
		c.end(k, false)
	}
	return k.epoch
}

// check refuses a producer that was fenced.
func (k *coordinator) check(epoch int) error {
	if epoch != k.epoch {
		return kerr.ProducerFenced
	}
	return nil
}

// produce writes one record in the open transaction, which begins with it.
func (c *cluster) produce(k *coordinator, epoch int, rec *kgo.Record) error {
	if err := k.check(epoch); err != nil {
		return err
	}
	if k.txn == nil {
		k.txn, k.began = &transaction{open: true, marked: map[*log]bool{}}, time.Now()
	}
	p, offset, err := c.write(rec, k.txn)
	rec.Partition, rec.Offset = p, offset
	return err
}

// stage adds positions to the open transaction.
func (c *cluster) stage(k *coordinator, epoch int, commit *kafka.Commit) error {
	if err := k.check(epoch); err != nil {
		return err
	}
	if !c.group.members[commit.Member] {
		return kerr.UnknownMemberID
	}
	if commit.Generation != c.group.generation {
		return kerr.IllegalGeneration
	}
	k.staged = func() {
		for topic, parts := range commit.Positions {
			for p, at := range parts {
				c.commit(commit.Group, place{topic, p}, at.Offset)
			}
		}
	}
	return nil
}

// finish is EndTxn.
func (c *cluster) finish(k *coordinator, epoch int, commit bool) error {
	if err := k.check(epoch); err != nil {
		return err
	}
	if k.txn == nil {
		if commit {
			return kerr.InvalidTxnState
		}
		return nil
	}
	c.end(k, commit)
	return nil
}

// end decides the open transaction. Its marks are written one after the other, a
// little later; until then readers wait in front of it.
func (c *cluster) end(k *coordinator, commit bool) {
	txn, staged := k.txn, k.staged
	k.txn, k.staged = nil, nil
	txn.open, txn.committed = false, commit
	if commit {
		k.commits++
	}
	for _, l := range txn.logs {
		t, p := c.find(l)
		k.ending++
		c.add(nil, "cluster/"+k.id, internal, &op{what: "mark " + t.name, exec: func() error {
			k.ending--
			l.endTxn(t, p, txn, time.Now())
			return nil
		}})
	}
	if commit && staged != nil {
		k.ending++
		c.add(nil, "cluster/"+k.id, internal, &op{what: "commit positions", exec: func() error {
			k.ending--
			staged()
			return nil
		}})
	}
}

// overdue ends transactions that nobody ends in time: their producer has to
// begin anew.
func (c *cluster) overdue(now time.Time) {
	for _, id := range sortedKeys(c.txns) {
		if k := c.txns[id]; k.txn != nil && now.Sub(k.began) > txnTimeout {
			c.initialize(k)
		}
	}
}

func (c *cluster) find(l *log) (*topic, int32) {
	for _, t := range c.topics {
		for p, at := range t.logs {
			if at == l {
				return t, int32(p)
			}
		}
	}
	panic("sim: a log of no topic")
}
