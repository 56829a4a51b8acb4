package partition

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/wire"
)

// Entities in different partitions tell each other what each needs to know exactly once,
// whatever becomes of their owners meanwhile, and whatever comes twice, late, or in another order.
func TestE4Equivalence(t *testing.T) {
	for seed := range crashSeeds() {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			inBubbleOf(t, 2, func(r *rig) { moves(t, r, rand.New(rand.NewPCG(seed, 5))) })
		})
	}
}

func moves(t *testing.T, r *rig, rnd *rand.Rand) {
	r.settings.NeverRunsTwice = true
	r.settings.LagRecords = 1 + rnd.Uint64N(60)
	r.settings.Window = time.Minute
	r.machine = func(*site) machine.Machine { return looptest.Entities(r.counter) }
	r.over = func(c Cluster) Cluster { return tardy{c, rand.New(rand.NewPCG(rnd.Uint64(), 6))} }
	gossip, told := r.gossip(), r.emitted()
	sites := []*site{r.start("a", 0), r.start("a", 1)}
	purses, jars := []string{r.entity("purse", 0), r.entity("purse", 1)}, []string{r.entity("jar", 0), r.entity("jar", 1)}
	want := map[string]int64{}
	given := map[string]uint64{}
	for range 3 + rnd.IntN(4) {
		for range 1 + rnd.IntN(12) {
			from, to, n := purses[rnd.IntN(2)], jars[rnd.IntN(2)], 1+rnd.Int64N(100)
			r.send(from, "input", fmt.Sprintf(`{"input":{"to":%q,"amount":%d}}`, to, n))
			want[to] += n
			given[from]++
		}
		<-time.After(time.Duration(rnd.IntN(1500)) * time.Millisecond)
		gossip.again(rnd)
		i := rnd.IntN(2)
		sites[i] = r.disturb(sites[i], rnd)
	}
	gossip.again(rnd)
	r.with(looptest.MovesTopic) // until now what is for it has waited
	for _, id := range purses {
		r.until(func() bool { f := r.fund(id); return f.Moves == given[id] && f.Confirmed == given[id] }, func() string {
			return fmt.Sprintf("%s is %+v, want %d moves, all confirmed", id, r.fund(id), given[id])
		})
	}
	gossip.again(rnd)
	<-time.After(5 * time.Second)
	for _, id := range append(purses, jars...) {
		if f := r.fund(id); f.Late != 0 || want[id] != 0 && f.Amount != want[id] || f.Confirmed != given[id] {
			t.Errorf("%s is %+v, want %d in it or %d confirmed moves", id, f, want[id], given[id])
		}
	}
	total := 0
	for _, n := range given {
		total += int(n)
	}
	r.until(func() bool { return told.count() == total }, func() string {
		return fmt.Sprintf("%d moves are said to be confirmed, want %d", told.count(), total)
	})
	for p, s := range sites {
		s.await(Owning)
		s.leave()
		r.mustBeFold(int32(p))
	}
}

// emissions are the events of a foreign topic by their ids.
type emissions struct {
	mu   sync.Mutex
	by   map[string]*kgo.Record
	fail func(format string, args ...any)
}

// emitted follows what is emitted: a repetition must be the same, bytes and all.
func (r *rig) emitted() *emissions {
	all := &emissions{by: map[string]*kgo.Record{}, fail: r.t.Errorf}
	r.tail(looptest.MovesTopic, all.take)
	return all
}

func (all *emissions) take(k *kgo.Record) {
	all.mu.Lock()
	defer all.mu.Unlock()
	id := ""
	for _, h := range k.Headers {
		if h.Key == "ce_id" {
			id = string(h.Value)
		}
	}
	if first := all.by[id]; first != nil && fmt.Sprint(first.Headers, string(first.Key), string(first.Value)) != fmt.Sprint(k.Headers, string(k.Key), string(k.Value)) {
		all.fail("the event %s is %s %v, and again %s %v", id, first.Value, first.Headers, k.Value, k.Headers)
	}
	all.by[id] = k
}

func (all *emissions) count() int {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.by)
}

// An event for others never gets into a topic of ours, where it would be believed.
func TestNothingIsEmittedIntoATopicOfOurs(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		r.machine = func(*site) machine.Machine { return looptest.Entities(r.counter) }
		r.start("a", 0)
		r.send(r.entity("purse", 0), "input", fmt.Sprintf(`{"input":{"emit":%q}}`, r.names.Commands()))
		r.until(func() bool { return r.has(0, "EffectFailed") == 1 }, func() string { return "nobody is told that the event went nowhere" })
		if n := r.has(0, "InputRejected"); n > 0 {
			t.Errorf("the event was read as a command, and rejected %d times", n)
		}
	})
}

// tardy is a cluster that is slow to send what follows from records, one sooner than
// another: a process may be killed before it has sent it, or before it knows that it has.
type tardy struct {
	Cluster
	rnd *rand.Rand
}

// Effects implements Cluster.
func (c tardy) Effects() (Producer, error) {
	p, err := c.Cluster.Effects()
	return &tardyProducer{Producer: p, rnd: c.rnd}, err
}

type tardyProducer struct {
	Producer
	mu  sync.Mutex
	rnd *rand.Rand
}

// Produce implements Producer.
func (p *tardyProducer) Produce(ctx context.Context, k *kgo.Record, done func(*kgo.Record, error)) {
	before, behind := p.pause(), p.pause()
	time.AfterFunc(before, func() {
		p.Producer.Produce(ctx, k, func(k *kgo.Record, err error) { time.AfterFunc(behind, func() { done(k, err) }) })
	})
}

func (p *tardyProducer) pause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Duration(p.rnd.IntN(1000)) * time.Millisecond
}

// entity is an entity of a kind that belongs to a partition.
func (r *rig) entity(kind string, p int32) string {
	for i := 0; ; i++ {
		if id := fmt.Sprintf("%s:%d", kind, i); r.partitionOf(id) == p {
			return id
		}
	}
}

// fund asks for the row of a purse or a jar.
func (r *rig) fund(id string) looptest.Fund {
	r.t.Helper()
	r.seq++
	asked := fmt.Sprintf("q%d", r.seq)
	q := &events.Query{Kind: "workflow", Workflow: id, ReplyTo: events.ReplyTo{Address: "tester", ID: asked}}
	r.must(r.producer.ProduceSync(context.Background(), kafka.Keyed(r.names.Queries(), []byte(id), wire.Marshal(q))).FirstErr())
	var f looptest.Fund
	r.must(json.Unmarshal(r.reply(asked, 1).Body, &f))
	return f
}

// until waits for something that becomes so.
func (r *rig) until(so func() bool, else_ func() string) {
	r.t.Helper()
	for range 600 {
		if so() {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	r.t.Fatal(else_())
}

// gossip is all that entities have been told.
type gossip struct {
	r    *rig
	mu   sync.Mutex
	told []*kgo.Record
}

func (r *rig) gossip() *gossip {
	g := &gossip{r: r}
	r.tail(r.names.Inbox(), func(k *kgo.Record) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.told = append(g.told, k)
	})
	return g
}

// again tells some of it again, in another order.
func (g *gossip) again(rnd *rand.Rand) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, i := range rnd.Perm(len(g.told)) {
		if k := g.told[i]; rnd.IntN(3) == 0 {
			g.r.producer.Produce(context.Background(), kafka.Keyed(k.Topic, k.Key, k.Value, k.Headers...), nil)
		}
	}
}
