package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// The model says what the embedded broker does: of the same requests, whoever is
// deposed meanwhile, the same ones are refused as fenced, the same records are seen
// by read-committed readers, and the same positions are committed.
//
// Offsets, and which transactions are open, are not compared: in kfake a deposed
// producer's attempt to write, which is refused, begins a transaction of its
// successor, whose end is written where it tried, and which may be overdue sooner.
func TestModelAndEmbeddedBrokerAgree(t *testing.T) {
	first, n := someSeeds()
	for seed := first; seed < first+n; seed++ {
		bubble(func() { compare(t, seed) })
	}
}

const (
	compared  = 300 // requests
	claimants = 2   // transactional ids
)

// pair are two clusters of which the same is asked.
type pair struct {
	t        *testing.T
	seed     uint64
	rng      *rand.Rand
	clusters [2]*cluster
	sessions [claimants][][2]*session // by transactional id, all that ever were
	written  int
}

func compare(t *testing.T, seed uint64) {
	p := &pair{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 3))}
	for i := range p.clusters {
		c := newCluster(2, p.rng)
		c.wrote = func(*kgo.Record, int32, int64) {}
		c.group.members["a member"] = true
		p.clusters[i] = c
	}
	p.clusters[0].brokers = newModel(p.clusters[0].topics, func(_ string, o *op) { _ = o.exec() }, p.clusters[0].clocks.now) // control records never fail
	p.clusters[1].brokers = startEmbedded(p.clusters[1].names, p.clusters[1].topics, t.Errorf)
	for id := range p.sessions {
		p.initialize(id)
	}
	for range compared {
		p.step()
	}
	for _, c := range p.clusters {
		c.brokers.close()
	}
}

func (p *pair) step() {
	time.Sleep(time.Duration(p.rng.IntN(int(txnTimeout / 20))))
	for _, c := range p.clusters {
		c.brokers.overdue(time.Now())
	}
	id := p.rng.IntN(claimants)
	present := len(p.sessions[id]) - 1
	which := max(0, present-p.rng.IntN(2)) // the present session, or the one before it
	s := p.sessions[id][which]
	switch p.rng.IntN(12) {
	case 0:
		p.initialize(id)
	case 1, 2:
		p.same("append", func(c *cluster, _ int) error { return c.write(p.record(c)) })
	case 3, 4, 5, 6:
		p.same("produce", func(c *cluster, i int) error { return c.produce(s[i], []*kgo.Record{p.record(c), p.record(c)}) })
		if which < present { // see above: the next one begins anew
			p.initialize(id)
		}
	case 7:
		p.same("stage", func(c *cluster, i int) error { return c.brokers.stage(s[i], p.positions(c), c.member) })
	case 8, 9, 10:
		if commit := p.rng.IntN(3) > 0; s[1].wrote { // clients do not end what they have not begun
			p.same("finish", func(c *cluster, i int) error { return c.finish(s[i], commit) })
		}
	case 11:
		p.see()
	}
	p.written++
}

func (p *pair) initialize(id int) {
	var both [2]*session
	p.same("initialize", func(c *cluster, i int) (err error) {
		both[i], err = c.brokers.initialize(fmt.Sprintf("txn-%d", id))
		return err
	})
	p.sessions[id] = append(p.sessions[id], both)
}

// record is one that all clusters get alike.
func (p *pair) record(c *cluster) *kgo.Record {
	return kafka.Placed(c.names.Journal(), int32(p.written%2), nil, fmt.Append(nil, p.written))
}

func (p *pair) positions(c *cluster) *kafka.Commit {
	return &kafka.Commit{Group: "group", Member: "a member", Positions: map[string]map[int32]kafka.Position{
		c.names.Inbox(): {0: {Offset: int64(p.written), LeaderEpoch: -1}},
	}}
}

// same asks both, and wants both to obey, or to refuse for the same reason.
func (p *pair) same(what string, ask func(*cluster, int) error) {
	var got [2]string
	for i, c := range p.clusters {
		switch err := ask(c, i); {
		case err == nil:
			got[i] = "done"
		case kafka.IsFenced(err):
			got[i] = "fenced"
		default:
			got[i] = err.Error()
		}
	}
	if got[0] != got[1] {
		p.t.Errorf("seed %d, step %d, %s: the model says %q, the broker %q", p.seed, p.written, what, got[0], got[1])
	}
}

// see wants readers to see the same.
func (p *pair) see() {
	var got [2]string
	for i, c := range p.clusters {
		for part := range c.partitions {
			for _, rec := range c.visible(place{c.names.Journal(), part}) {
				got[i] += fmt.Sprintf(" %s", rec.Value)
			}
		}
		got[i] += fmt.Sprint(c.brokers.committed("group"))
	}
	if got[0] != got[1] {
		p.t.Errorf("seed %d, step %d: of the model is seen\n%s\nand of the broker\n%s", p.seed, p.written, got[0], got[1])
	}
}
