package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/test/sim/calls"
	"github.com/heddle-run/heddle/test/sim/disk"
	"github.com/heddle-run/heddle/test/sim/workload"
)

var secret = events.Key("simulation-secret")

// world is one run: a cluster, planners, workers and users under one scheduler.
type world struct {
	audit    audit
	injector injector
	members  members

	archiving *archiving // nil: there is no archiver
	pooling   *pooling   // nil: there are no pools

	o      Options
	plan   *workload.Plan
	c      *cluster
	rng    *rand.Rand // of the scheduler's choices
	logger *slog.Logger
	memory *workload.TaskMemory
	shared *store.Shared
	stats  loop.Stats
	began  time.Time

	nodes      []*node // by slot; nil: it is down
	disks      []*disk.Disk
	filled     []*disk.Disk // all that ever were
	skews      []time.Duration
	workers    []*worker
	owner      []int // of partitions: the slot that the group gave it to; -1: none
	starts     int
	orders     int                          // of operators
	aborts     int                          // processes that ended by themselves
	kills      int                          // of workers
	noted      map[place]map[int64]bool     // what workers have committed to be done, behind an offset
	cancelled  map[string]bool              // tokens of attempts that an owner has cancelled; with mu
	doubtful   map[int32]int64              // partitions whose lease may not have excluded another, and since which tick
	decided    map[inLog]int64              // the ticks at which records of journals were written
	commanded  map[inLog][]int64            // and commands, one after the other in the same place
	leases     map[lease]int64              // until when (Unix ms) they last at most, under mu
	others     int                          // faults that do not leave owners in peace
	strays     int                          // commands that were written to the wrong partition alone
	stumbles   []stumbles                   // by partition
	thinned    map[place]bool               // input logs that have lost records
	replaced   map[place]bool               // those that have lost their newest, or all
	losses     map[partition.LossError]bool // that an operator has accepted
	cursors    cursors                      // of the planners' group
	notices    notices                      // of drains, as their receivers have had them
	foreigners int                          // that wrote in transactions

	users   []*user
	working sync.WaitGroup // users and what they do later
	running int            // of them, under mu
	stop    context.CancelFunc
	ctx     context.Context
	ended   sync.WaitGroup // processes that end

	meant     []Fault // all of the run
	step      int
	calm      bool // no more faults
	evening   bool // nobody waits for anything any more
	later     []due
	coups     []*rand.Rand // that wait for their moment
	history   history
	answering func() // what the move at hand tells a client
	possible  []move // at the last step

	defs map[string][]byte

	left [][]*kgo.Record // what the journals have become in the end

	strangers bool // there are workflows that the plan does not know

	coverage workload.Coverage

	mu       sync.Mutex
	leaving  int         // processes that end
	ticks    []time.Time // when each was
	calls    []*calls.Call
	tasks    []taskSeen
	once     onceSeen // the same tasks, whole
	needless needless
	wishes   []wish // of planners, of their group
	errs     []error
	kind     string  // of the first one
	about    Subject // of the first error that has one
}

// due is something that the scheduler does at a time, or at its moment if that
// comes before.
type due struct {
	at     time.Time
	moment func() bool // nil: there is none
	what   string
	do     func()
}

func (d *due) now(now time.Time) bool {
	return !now.Before(d.at) || d.moment != nil && d.moment()
}

// taskSeen is a task record as a worker met it.
type taskSeen struct {
	workflow string
	token    events.Token
	early    bool
}

func newWorld(o Options) *world {
	rng := schedulerDice(o.Seed)
	plan := workload.NewPlan(o.Seed)
	return newWorldOf(o, plan, rng, 2+rng.IntN(3))
}

// schedulerDice draw the scheduler's choices.
func schedulerDice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x736368656475)) }

// newWorldOf is a world of a plan that need not be the seed's.
func newWorldOf(o Options, plan *workload.Plan, rng *rand.Rand, planners int) *world {
	w := &world{o: o, meant: o.Faults, plan: plan, rng: rng, memory: workload.NewTaskMemory(), logger: o.Logger, began: time.Now(), defs: map[string][]byte{}, doubtful: map[int32]int64{}, once: onceSeen{}, decided: map[inLog]int64{}, commanded: map[inLog][]int64{}, leases: map[lease]int64{}, cursors: newCursors(), needless: newNeedless(), noted: map[place]map[int64]bool{}, cancelled: map[string]bool{}, thinned: map[place]bool{}, replaced: map[place]bool{}, losses: map[partition.LossError]bool{}}
	w.audit.world, w.injector.world, w.members.world = w, w, w
	w.notices = newNotices(w.fail)
	if w.logger == nil {
		w.logger = discard
	}
	w.history, w.coverage = newHistory(o.Keep), workload.NewCoverage()
	w.c = newCluster(w.plan.Partitions, rng)
	w.c.wrote = w.wrote
	w.pooling = newPooling(w)
	if o.Embedded {
		w.c.brokers = startEmbedded(w.c.names, w.c.topics, w.fail)
	} else {
		w.c.brokers = newModel(w.c.topics, func(stream string, o *op) { w.c.add(nil, stream, internal, o) }, w.c.clocks.now)
	}
	w.shared = store.NewShared(1 << 20)
	w.ctx, w.stop = context.WithCancel(context.Background())
	for range planners {
		w.disks, w.skews, w.nodes = append(w.disks, disk.New()), append(w.skews, 0), append(w.nodes, nil)
	}
	for range w.plan.Partitions {
		w.owner = append(w.owner, -1)
		w.stumbles = append(w.stumbles, stumbles{})
	}
	w.workers = make([]*worker, w.plan.Workers)
	w.archiving = newArchiving(w)
	for _, wf := range w.plan.Workflows {
		d, err := definition.Parse([]byte(wf.Graph.Source()))
		if err != nil {
			panic(fmt.Sprintf("sim: a drawn definition: %v", err))
		}
		w.defs[wf.Graph.Name] = d.Canonical()
	}
	return w
}

// definition resolves what runs start by name.
func (w *world) definition(ref string) ([]byte, bool) {
	d, ok := w.defs[ref]
	return d, ok
}

// fail notes what must not be.
func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := fmt.Errorf(format, args...)
	if len(w.errs) == 0 {
		w.kind = kindOf(format, err)
	}
	if len(w.errs) < 20 {
		w.errs = append(w.errs, err)
	}
	var known *workload.Complaint
	if errors.As(err, &known) {
		w.concerns(w.workflow(known.Workflow))
	}
}

// kindOf is what failures have in common that differ in names and numbers only.
func kindOf(format string, err error) string {
	var known *workload.Complaint
	var refused *refusedError
	switch {
	case errors.As(err, &known):
		return format + ": " + known.Kind
	case errors.As(err, &refused):
		return format + ": " + refused.command + ": " + refused.code
	}
	return format
}

// failAbout notes what must not be, of a workflow or a partition.
func (w *world) failAbout(about Subject, format string, args ...any) {
	w.fail(format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.concerns(about)
}

// concerns notes what a failure is about: the first one that says so counts.
func (w *world) concerns(about Subject) {
	if w.about == (Subject{}) {
		w.about = about
	}
}

func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.errs) > 0
}

// start starts everybody.
func (w *world) start() {
	w.startServices()
	w.startUsers()
	if w.comes(meddling) {
		w.work(func() { w.meddle(w.ctx) })
	}
}

// meddling stands for the client that does what nobody should.
const meddling = "meddling"

// comes reports whether a workflow's client is there. That others are not changes
// nothing in what the seed decides about one: its plan, and what its faults are.
func (w *world) comes(workflow string) bool { return !slices.Contains(w.o.Absent, workflow) }

// startServices starts planners and workers.
func (w *world) startServices() {
	for slot := range w.nodes {
		w.startNode(slot, w.disks[slot])
	}
	for slot := range w.workers {
		w.startWorker(slot)
	}
	w.archiving.begin()
	w.pooling.begin()
	for p := range w.owner {
		w.members.assign(int32(p), w.rng.IntN(len(w.nodes)))
	}
}

// startUsers starts the clients of the plan's workflows, and a watcher.
func (w *world) startUsers() {
	for i, wf := range w.plan.Workflows {
		if !w.comes(wf.ID) {
			continue
		}
		u := &user{caller: w.caller("user-" + wf.ID), wf: wf}
		w.users = append(w.users, u)
		ctx, rested := context.WithCancel(w.ctx)
		w.work(func() {
			defer rested()
			if err := u.drive(w.ctx); err != nil && w.ctx.Err() == nil {
				w.failAbout(w.workflow(wf.ID), "the user of %s: %w", wf.ID, err)
			}
		})
		if i != int(w.o.Seed)%len(w.plan.Workflows) {
			continue
		}
		w.work(func() {
			if err := w.watcher(i, wf.ID).watch(ctx); err != nil && ctx.Err() == nil {
				w.failAbout(w.workflow(wf.ID), "the watcher of %s: %w", wf.ID, err)
			}
		})
	}
}

// work runs something that has to end before the run is over.
func (w *world) work(f func()) {
	w.mu.Lock()
	w.running++
	w.mu.Unlock()
	w.working.Go(func() {
		defer func() {
			w.mu.Lock()
			w.running--
			w.mu.Unlock()
		}()
		f()
	})
}

// soon does something some time later, before the run is over.
func (w *world) soon(after time.Duration, f func(ctx context.Context) error) {
	w.work(func() {
		if workload.Pause(w.ctx, after) != nil {
			return
		}
		if err := f(w.ctx); err != nil && w.ctx.Err() == nil {
			w.fail("later: %w", err)
		}
	})
}

// busy reports whether users still wait for something.
func (w *world) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running > 0
}

// published notes a task that a worker met.
func (w *world) published(rec *kgo.Record, task *events.Task) {
	t, err := secret.Open(task.Token)
	if err != nil || t.Workflow != string(rec.Key) {
		w.failAbout(w.workflow(string(rec.Key)), "the task of %s, attempt %d, has no token of its own: %v", rec.Key, task.Attempt, err)
		return
	}
	if first, now := w.once.same(task); first != nil {
		w.failAbout(w.workflow(t.Workflow), "two tasks have one token (E1):\n  first %s\n  now   %s", wire.Text(first), wire.Text(now))
	}
	c := w.plan.Component(t.Workflow, task.Component)
	w.tasks = append(w.tasks, taskSeen{t.Workflow, t, c != nil && c.Async()})
}

// at does something at a time of its own.
func (w *world) at(after time.Duration, what string, do func()) {
	w.later = append(w.later, due{time.Now().Add(after), nil, what, do})
}

// when does something at a moment, or some time later if it does not come.
func (w *world) when(moment func() bool, atLast time.Duration, what string, do func()) {
	w.later = append(w.later, due{time.Now().Add(atLast), moment, what, do})
}

// shutdown ends everybody; nothing is left running.
func (w *world) shutdown() {
	w.stop()
	for _, n := range w.nodes {
		if n != nil {
			n.kill()
		}
	}
	w.archiving.end()
	w.working.Wait()
	w.ended.Wait()
	w.shared.Close()
	w.c.brokers.close()
}

func (w *world) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.errs...)
}
