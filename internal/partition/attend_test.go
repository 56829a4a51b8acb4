package partition

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// crowd is a group whose members share the partitions.
type crowd struct {
	turn    chan struct{} // a lock that virtual time does not stand still for
	members map[string]*fellow
	owned   map[int32]*Owner
	by      map[int32]string
	joined  int
}

// fellow is one process of a crowd: its Group.
type fellow struct {
	c *crowd
	*site
	attend *Attendance
	ends   context.CancelFunc
	ended  chan error
}

// Join implements Group.
func (f *fellow) Join(context.Context) error {
	defer f.c.lock()()
	f.c.members[f.Owner] = f
	f.c.joined++
	f.c.share()
	return nil
}

// Leave implements Group.
func (f *fellow) Leave(context.Context) {
	defer f.c.lock()()
	delete(f.c.members, f.Owner)
	f.c.share()
}

// Others implements Group.
func (f *fellow) Others(context.Context) (int, error) {
	defer f.c.lock()()
	n := len(f.c.members)
	if f.c.members[f.Owner] != nil {
		n--
	}
	return n, nil
}

// lock takes the lock and returns how to give it back.
func (c *crowd) lock() (unlock func()) {
	c.turn <- struct{}{}
	return func() { <-c.turn }
}

// share gives each member its part.
func (c *crowd) share() {
	names := slices.Sorted(maps.Keys(c.members))
	for p := range int32(4) {
		to := ""
		if len(names) > 0 {
			to = names[int(p)%len(names)]
		}
		if c.by[p] == to {
			continue
		}
		if old := c.owned[p]; old != nil {
			ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
			old.Revoke(ctx)
			stop()
			delete(c.owned, p)
		}
		if c.by[p] = to; to != "" {
			c.owned[p] = c.members[to].Own(context.Background(), p)
		}
	}
}

// serves says how many partitions are owned, and by how many members.
func (c *crowd) serves() (owned, members int) {
	defer c.lock()()
	for _, o := range c.owned {
		if o.Status().State == Owning {
			owned++
		}
	}
	return owned, len(c.members)
}

// attends starts a process that attends, and ends it with the test.
func (r *rig) attends(c *crowd, instance string) *fellow {
	r.t.Helper()
	return r.attendsBy(c, instance, func(g Group) Group { return g })
}

// attendsBy is attends with something around the Group.
func (r *rig) attendsBy(c *crowd, instance string, around func(Group) Group) *fellow {
	r.t.Helper()
	f := &fellow{c: c, site: r.start(instance), ended: make(chan error, 1)}
	f.attend = &Attendance{Host: f.Host, Group: around(f)}
	ctx, ends := context.WithCancel(context.Background())
	f.ends = ends
	go func() { f.ended <- f.attend.Run(ctx) }()
	return f
}

func (f *fellow) leaveForGood() {
	f.ends()
	f.r.must(<-f.ended)
	f.Leave(context.Background())
	f.leave()
}

func newCrowd() *crowd {
	return &crowd{turn: make(chan struct{}, 1), members: map[string]*fellow{}, owned: map[int32]*Owner{}, by: map[int32]string{}}
}

// mute is a cluster of which no journal leader answers about some partitions.
type mute struct {
	Cluster
	silent   []int32
	leaderOf int32 // what metadata says of their leader; -1: they have none
}

func (c mute) Admin() (Admin, error) {
	a, err := c.Cluster.Admin()
	return muteAdmin{a, c}, err
}

// Txn implements Cluster: what is written to those partitions is never answered.
func (c mute) Txn(p int32) (Txn, error) {
	txn, err := c.Cluster.Txn(p)
	if slices.Contains(c.silent, p) {
		return unruledTxn{txn}, err
	}
	return txn, err
}

type muteAdmin struct {
	Admin
	c mute
}

// ListEndOffsets implements Admin.
func (a muteAdmin) ListEndOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	all, err := a.Admin.ListEndOffsets(ctx, topics...)
	for _, partitions := range all {
		for _, p := range a.c.silent {
			delete(partitions, p)
			err = &kadm.ShardErrors{Name: "ListOffsets", Errs: []kadm.ShardError{{Err: kerr.RequestTimedOut}}}
		}
	}
	return all, err
}

// Metadata implements Admin.
func (a muteAdmin) Metadata(ctx context.Context, topics ...string) (kadm.Metadata, error) {
	m, err := a.Admin.Metadata(ctx, topics...)
	for _, topic := range m.Topics {
		for _, p := range a.c.silent {
			at := topic.Partitions[p]
			at.Leader = a.c.leaderOf
			topic.Partitions[p] = at
		}
	}
	return m, err
}

// One planner does not reach the leader of a journal: another one takes over.
func TestAPlannerWithoutARouteLeavesItToOthers(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := newCrowd()
		r.over = func(all Cluster) Cluster { return mute{all, []int32{0, 1}, 0} }
		a := r.attends(c, "a")
		defer a.leaveForGood()
		for range 600 { // alone it serves what it can
			<-time.After(100 * time.Millisecond)
		}
		if owned, members := c.serves(); owned != 2 || members != 1 {
			t.Errorf("alone it owns %d of the 2 that it reaches; members: %d", owned, members)
		}
		r.over = nil
		b := r.attends(c, "b")
		defer b.leaveForGood()
		<-time.After(90 * time.Second)
		if owned, members := c.serves(); owned != 4 || members != 1 || a.attend.Member() {
			t.Errorf("%d of 4 are owned, by %d members; the first is one: %t", owned, members, a.attend.Member())
		}
		if unfit := a.attend.Unfit(); unfit == nil || unfit.Need != NeedsRoute {
			t.Errorf("it says that it lacks %v", unfit)
		}
	})
}

// What no planner reaches makes none of them leave if it has no leader; and if it
// seems to have one, they do not come and go, and serve the rest.
func TestWhatAllPlannersSufferFromMakesNoStorm(t *testing.T) {
	for name, leader := range map[string]int32{"no leader": -1, "a leader that answers nobody": 0} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				c := newCrowd()
				r.over = func(all Cluster) Cluster { return mute{all, []int32{2}, leader} }
				all := []*fellow{r.attends(c, "a"), r.attends(c, "b"), r.attends(c, "c")}
				defer func() {
					for _, f := range all {
						f.leaveForGood()
					}
				}()
				served, looks := 0, 0
				for range 200 {
					<-time.After(time.Second)
					owned, _ := c.serves()
					served += owned
					looks++
				}
				if share := float64(served) / float64(3*looks); share < 0.9 {
					t.Errorf("the 3 partitions that could be served were so for %.3f of the time", share)
				}
				want := 3
				if leader >= 0 {
					want = 7
				}
				if c.joined > want {
					t.Errorf("within 200 s the 3 planners joined %d times, want at most %d", c.joined, want)
				}
				if owned, members := c.serves(); owned != 3 || leader < 0 && members != 3 {
					t.Errorf("in the end %d are owned by %d members", owned, members)
				}
			})
		})
	}
}

// hung is a cluster whose journals take nothing more, from the moment on that it is
// told so; nobody is told.
type hung struct {
	Cluster
	on *chan struct{}
}

func (c hung) Journals() (Producer, error) {
	p, err := c.Cluster.Journals()
	return hungProducer{p, *c.on}, err
}

type hungProducer struct {
	Producer
	on chan struct{}
}

// Produce implements Producer.
func (p hungProducer) Produce(ctx context.Context, k *kgo.Record, done func(*kgo.Record, error)) {
	select {
	case <-p.on:
	default:
		p.Producer.Produce(ctx, k, done)
	}
}

// An owner whose append hangs does not hold its partition: it stops renewing, and
// another one takes over though the first is alive.
func TestO5AHungAppendHoldsNoPartition(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		hangs := make(chan struct{})
		r.over = func(all Cluster) Cluster { return hung{Cluster: all, on: &hangs} }
		a := r.start("a", p)
		defer a.loseAll()
		r.adder()
		r.counted("w", 2)
		if sum := r.settled("w"); sum != 14 {
			t.Fatalf("sum is %d, want 14", sum)
		}
		close(hangs)
		r.send("w", "input", `{"input": 7}`)
		began := time.Now()
		for a.owners[0].Status().State == Owning && time.Since(began) < time.Minute {
			<-time.After(10 * time.Millisecond)
		}
		lease := r.settings.Complete().Lease
		if took := time.Since(began); took < lease || took > 2*lease+lease/2 {
			t.Errorf("the tenure ended after %s, with a lease of %s", took, lease)
		}
		a.owners[0].lost() // it would try again
		r.over = nil
		b := r.start("b", p)
		defer b.leave()
		if sum := r.settled("w"); sum != 21 {
			t.Errorf("sum is %d, want 21", sum)
		}
	})
}

// regressing is a cluster whose journals tell lower and lower offsets from some
// moment on, as after an unclean election.
type regressing struct {
	Cluster
	on chan struct{}
}

func (c regressing) Journals() (Producer, error) {
	p, err := c.Cluster.Journals()
	return regressingProducer{p, c.on}, err
}

type regressingProducer struct {
	Producer
	on chan struct{}
}

// Produce implements Producer.
func (p regressingProducer) Produce(ctx context.Context, k *kgo.Record, done func(*kgo.Record, error)) {
	p.Producer.Produce(ctx, k, func(k *kgo.Record, err error) {
		select {
		case <-p.on:
			k.Offset = 1
		default:
		}
		done(k, err)
	})
}

// The next recovery finds what the journal has lost: the tenure ends, and begins
// anew under another epoch.
func TestAJournalThatGoesBackIsRecovered(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		back := make(chan struct{})
		r.over = func(all Cluster) Cluster { return regressing{all, back} }
		r.adder()
		a := r.start("a", p)
		r.counted("w", 2)
		r.settled("w")
		close(back)
		r.send("w", "input", `{"input": 7}`)
		for a.owners[0].Status().Epoch == 1 {
			<-time.After(10 * time.Millisecond)
		}
		a.owners[0].lost()
		a.loseAll()
		r.over = nil
		b := r.start("a", p)
		defer b.leave()
		if sum := r.settled("w"); sum != 21 {
			t.Errorf("sum is %d, want 21", sum)
		}
	})
}
