package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-run/heddle/internal/faults"
	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/services/planner"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/test/sim/disk"
	"github.com/heddle-run/heddle/test/sim/workload"
)

var errDead = errors.New("the process is dead")

// node is one process start of a planner: the real partition.Host and Owners
// over the model. The scheduler's goroutine owns it, but for what says otherwise.
type node struct {
	w     *world
	c     *cluster
	slot  int
	name  string // of the process start
	owner string // of leases: its name among planners
	host  *partition.Host
	fs    *disk.Disk

	reads atomic.Bool // it has a reader

	owners     map[int32]*partition.Owner
	generation int32          // of the group, as the process knows it
	left       map[int32]int  // owners that end, by partition
	dead       bool           // the cluster's lock guards it
	aborted    bool           // by itself, and the machine has not noticed; so too
	cutOff     bool           // nothing it asks is answered
	deaf       map[place]bool // what its readers get nothing of; the cluster's lock guards it
	away       bool           // it is no member of the group
	unattend   func()         // ends its attendance; nil: it always attends

	mu   sync.Mutex
	gate chan struct{} // closed when it wakes; nil: it is awake
	skew time.Duration // of its clock
	was  time.Duration // skew before it was set last
	set  time.Time     // when that was; zero: never

	ending sync.WaitGroup
}

// start starts a planner on a disk.
func (w *world) startNode(slot int, fs *disk.Disk) *node {
	w.starts++
	n := &node{
		w: w, c: w.c, slot: slot, name: fmt.Sprintf("n%d.%d", slot, w.starts), fs: fs,
		owners: map[int32]*partition.Owner{}, left: map[int32]int{}, deaf: map[place]bool{}, skew: w.skews[slot],
	}
	instance, settings, bound := slotName(slot), w.settings(), w.pooling.bindings()
	settings.Pools = bound
	n.owner = fmt.Sprintf("%s/%d", instance, w.starts)
	host, err := partition.NewHost(as(context.Background(), "host"), partition.HostConfig{
		Cluster: leashed{clients{n}}, Partitions: w.plan.Partitions, Instance: instance, Owner: n.owner,
		Settings: settings, Machine: func(p int32) machine.Machine { return &cursed{w.machine(p, bound), n} }, Clock: n, LeaseID: n.leaseID, Killed: faults.KilledBy(n.isDead),
		Store:  func(p int32) store.Options { return store.Options{Dir: storeDir(p), FS: fs, Shared: w.shared} },
		Flaws:  w.o.Flaws,
		Member: n.member, Logger: w.logger.With("node", n.name), Stats: &w.stats,
	})
	if err != nil {
		panic(fmt.Sprintf("sim: starting a planner: %v", err))
	}
	n.host = host
	w.nodes[slot] = n
	w.tell(n.about(), "  %s starts", n.name)
	w.c.mu.Lock()
	w.c.group.members[n.name] = true // an older process may be ending
	w.c.mu.Unlock()
	settle()
	w.members.attend(n)
	return n
}

// slotName is the name of the planner of a slot, whichever process it is now.
func slotName(slot int) string { return fmt.Sprintf("n%d", slot) }

func storeDir(p int32) string { return "store-" + partitionName(p) }

func (w *world) settings() loop.Settings {
	s := w.plan.Settings
	s.WriteDelay = writeDelay
	s.RecordBytes = largeRecord - recordOverhead
	if w.o.Seed%8 == 1 { // less than a command may bring
		s.RecordBytes = smallRecord / 2
	}
	trimming(w.o.Seed, &s)
	s.LeaveAfter = leaveAfter
	s.Archive = w.archiving != nil
	return s
}

// trimming is how owners trim their logs in a run: mostly soon, as there is little
// time, else as they do by default.
func trimming(seed uint64, s *loop.Settings) {
	if seed%3 > 0 {
		s.History, s.TrimEvery = time.Duration(seed%5)*time.Second+time.Millisecond, time.Second
	}
}

// writeDelay is short: a store that is soon up to date is one that can soon be
// wrong.
const writeDelay = 200 * time.Millisecond

// fewSteps is the budget of a decision: plenty for a workload's expressions.
const fewSteps = 50_000

// recordOverhead is what key and headers of a journal record may take.
const recordOverhead = 2 << 10

// machine is that of a partition, whose planner gives queues to pools.
func (w *world) machine(p int32, bound map[string]string) machine.Machine {
	budget := machine.Budget{Steps: fewSteps}
	if few := int(w.o.Seed % 4); few > 1 { // what follows is decided in pieces
		budget.Events, budget.Bytes, budget.Tasks = few*few-3, 400, 400
	}
	if w.o.Flaws.NoBudget {
		budget.Steps = 1 << 30
	}
	workflows := planner.New(planner.Config{Key: secret, Partition: p, Definitions: w.definition, Budget: budget, Archive: w.archiving != nil, Pools: bound})
	return w.flawed(workload.KindsWith(secret, workflows, w.pooling.machine()))
}

// Now implements loop.Clock. A frozen process gets no answer until it wakes.
func (n *node) Now() time.Time {
	for {
		n.mu.Lock()
		gate, skew := n.gate, n.skew
		n.mu.Unlock()
		if gate == nil {
			return time.Now().Add(skew)
		}
		<-gate
	}
}

// clock is what the clock of the process says, frozen or not.
func (n *node) clock() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Add(n.skew)
}

// freeze stops the process as a debugger would.
func (n *node) freeze() {
	n.w.tell(n.about(), "  %s is frozen", n.name)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gate == nil {
		n.gate = make(chan struct{})
	}
}

func (n *node) wake() {
	n.mu.Lock()
	if n.gate != nil {
		close(n.gate)
		n.gate = nil
	}
	n.mu.Unlock()
	settle()
}

func (n *node) frozen() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gate != nil
}

// silent reports whether nothing that it asks is answered now.
func (n *node) silent() bool { return n.cutOff || n.frozen() }

func (n *node) isDead() bool {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.dead
}

// abort ends the process in the middle of what the calling goroutine does: that goes
// no further. What its others do in this moment they have done before. Its machine
// notices a little later (buryAborted).
func (n *node) abort() {
	time.Sleep(time.Nanosecond)
	n.c.mu.Lock()
	n.dead, n.aborted = true, true
	n.c.mu.Unlock()
	runtime.Goexit()
}

// leaseID is another one at each time: two partitions that acquire at one time
// are in no order.
func (n *node) leaseID() string {
	return fmt.Sprintf("%s-lease-%d", n.name, time.Since(n.w.began))
}

// member is the membership that committed positions name.
func (n *node) member() (string, int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.name, n.generation
}

func (n *node) learn(generation int32) {
	n.mu.Lock()
	n.generation = generation
	n.mu.Unlock()
}

// own claims a partition.
func (n *node) own(p int32) {
	if n.owners[p] == nil {
		n.owners[p] = n.host.Own(as(context.Background(), partitionName(p)), p)
		settle()
	}
}

// leaving reports whether an older claim on a partition has not ended yet.
func (n *node) leaving(p int32) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.left[p] > 0
}

// lose gives a partition up at once; revoke in order.
func (n *node) lose(p int32) {
	n.w.tell(n.aboutPartition(p), "  %s loses %s at once", n.name, partitionName(p))
	n.give(p, func(o *partition.Owner) { o.Lose() })
}

func (n *node) revoke(p int32) {
	n.w.tell(n.aboutPartition(p), "  %s gives %s up in order", n.name, partitionName(p))
	n.give(p, func(o *partition.Owner) {
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		o.Revoke(ctx)
	})
}

func (n *node) give(p int32, how func(*partition.Owner)) {
	o := n.owners[p]
	delete(n.owners, p)
	n.mu.Lock()
	n.left[p]++
	n.mu.Unlock()
	n.ending.Go(func() {
		if o != nil {
			how(o)
			<-o.Ended()
		}
		n.mu.Lock()
		n.left[p]--
		n.mu.Unlock()
	})
	settle()
}

// kill ends the process without a goodbye. What it had sent may still arrive.
func (n *node) kill() {
	n.w.tell(n.about(), "  %s is killed", n.name)
	n.die()
	for _, p := range n.owned() {
		n.lose(p)
	}
	n.close()
	settle()
}

// die lets nothing more come of the process, whose goroutines learn of it.
func (n *node) die() {
	n.c.mu.Lock()
	n.dead = true
	var waiting []func(error)
	for _, s := range n.c.sorted() {
		if s.owner != n {
			continue
		}
		for _, o := range s.asked {
			if o.done != nil && s.kind != sending {
				waiting = append(waiting, o.done)
			}
			o.gone, o.done = true, nil
		}
	}
	delete(n.c.group.members, n.name)
	n.c.mu.Unlock()
	n.wake()
	for _, done := range waiting {
		done(errDead)
	}
}

// close ends the process's clients once its owners have ended.
func (n *node) close() {
	if n.unattend != nil {
		n.unattend()
	}
	n.w.mu.Lock()
	n.w.leaving++
	n.w.mu.Unlock()
	n.w.ended.Go(func() {
		n.ending.Wait()
		n.c.mu.Lock()
		delete(n.c.group.members, n.name)
		n.c.mu.Unlock()
		n.host.Close()
		n.w.mu.Lock()
		n.w.leaving--
		n.w.mu.Unlock()
	})
}

// leave ends the process in order.
func (n *node) leave() {
	for _, p := range n.owned() {
		n.revoke(p)
	}
	n.close()
}

var discard = slog.New(slog.DiscardHandler)

// owned are the partitions that the process claims, in order.
func (n *node) owned() []int32 { return slices.Sorted(maps.Keys(n.owners)) }
