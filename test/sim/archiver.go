package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/memory"
	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/services/planner/archive/archiver"
	"github.com/heddle-run/heddle/shared/events"
)

// archiving is the archiver of a world that has one, the store that it writes, and what is done to both. A world without has nil.
type archiving struct {
	w        *world
	kept     store.Opened
	topic    string // id of the journal's
	settings archive.Settings
	faults   *rand.Rand // what is done to its processes

	starts    int
	processes []*archiverProcess // that live; the newest is the last
}

// archiverProcess is one process start of an archiver.
type archiverProcess struct {
	n    *node // of which it has the clients, and no host
	stop context.CancelFunc

	mu   sync.Mutex
	dice map[string]*rand.Rand // what the store does to it, by partition
}

// archiverDice draw whether there is an archiver, and what it is: other seeds are as they were.
func archiverDice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6172636869766572)) }

// newArchiving draws an archiver. A night in which journals expire is longer than any is away.
func newArchiving(w *world) *archiving {
	rng := archiverDice(w.o.Seed)
	if rng.IntN(8) > 0 || w.o.Seed%anotherDay == 0 {
		return nil
	}
	s := archive.Settings{All: rng.IntN(2) == 0, Age: int64(500 + rng.IntN(4000)), Records: int64(5 + rng.IntN(200))}
	id := w.c.topics[w.c.names.Journal()].id
	return &archiving{w: w, kept: memory.New(), topic: fmt.Sprintf("%x", id[:]), settings: s, faults: rng}
}

// begin starts the first process, and says when others die, sleep and come.
func (a *archiving) begin() {
	if a == nil {
		return
	}
	a.start()
	at := time.Duration(0)
	for range a.faults.IntN(5) {
		at += millis(a.faults, 300, 5000)
		back := at + millis(a.faults, 0, 2000)
		if a.faults.IntN(3) > 0 {
			a.w.at(at, "the archiver is killed", func() { a.kill(len(a.processes)) })
			a.w.at(back, "the archiver comes again", a.start)
		} else {
			a.w.at(at, "the archiver is frozen", a.freeze)
			a.w.at(back, "another archiver comes", a.start)
			a.w.at(back+millis(a.faults, 0, 1000), "the archiver wakes up", a.wake)
			a.w.at(back+millis(a.faults, 1000, 3000), "the group tells the archiver that it is lost", func() { a.kill(len(a.processes) - 1) })
		}
		at = back
	}
}

// start starts a process.
func (a *archiving) start() {
	w := a.w
	a.starts++
	n := &node{w: w, c: w.c, slot: -a.starts, name: fmt.Sprintf("archiver.%d", a.starts), owners: map[int32]*partition.Owner{}, left: map[int32]int{}, deaf: map[place]bool{}}
	ctx, stop := context.WithCancel(context.Background())
	p := &archiverProcess{n: n, stop: stop, dice: map[string]*rand.Rand{}}
	a.processes = append(a.processes, p)
	parts := archiver.Parts{
		Deployment: &archiverLink{a: a, n: n, callers: map[string]*caller{}}, Names: w.c.names, Topic: a.topic, Reader: journal.Over(source{admin{n}}, w.c.names), AtOnce: 1,
	}
	cfg := archiver.Config{Store: &troubled{a.kept, a, p}, Settings: a.settings, Name: n.name, Logger: w.logger.With("archiver", n.name)}
	for i := range w.plan.Partitions {
		w.ended.Go(func() {
			if err := archiver.Keep(as(ctx, partitionName(i)), cfg, parts, i); err != nil {
				w.fail("starting an archiver: %w", err)
			}
		})
	}
	settle()
}

// kill ends the first processes without a goodbye.
func (a *archiving) kill(first int) {
	for ; first > 0 && len(a.processes) > 0; first-- {
		p := a.processes[0]
		a.processes = a.processes[1:]
		p.n.die()
		p.n.wake()
		p.stop()
		settle()
	}
}

func (a *archiving) freeze() {
	for _, p := range a.processes {
		p.n.freeze()
	}
}

func (a *archiving) wake() {
	for _, p := range a.processes {
		p.n.wake()
	}
}

// calmDown leaves one process, to which nothing happens any more.
func (a *archiving) calmDown() {
	if a == nil {
		return
	}
	a.wake()
	a.kill(len(a.processes) - 1)
	if len(a.processes) == 0 {
		a.start()
	}
}

// end ends all processes.
func (a *archiving) end() {
	if a != nil {
		a.kill(len(a.processes))
	}
}

// archiverLink is what a process asks of the cluster and of planners.
type archiverLink struct {
	a *archiving
	n *node

	mu      sync.Mutex
	callers map[string]*caller // of the goroutines of partitions, one each
}

// Read implements archiver.Deployment.
func (l *archiverLink) Read(ctx context.Context, q events.Query) (json.RawMessage, error) {
	l.mu.Lock()
	name := l.n.name + "-" + who(ctx)
	if l.callers[name] == nil {
		l.callers[name] = l.a.w.caller(name)
	}
	c := l.callers[name]
	l.mu.Unlock()
	r, err := c.query(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case r.Refusal != nil:
		return nil, &request.RefusedError{Reply: r}
	}
	return r.Body, nil
}

// Canonical implements archiver.Deployment: journals have the definitions.
func (l *archiverLink) Canonical(string) ([]byte, bool) { return nil, false }

// Tell implements archiver.Deployment. Nobody may be told of what the store has not.
func (l *archiverLink) Tell(ctx context.Context, words []*kgo.Record) error {
	for _, rec := range words {
		m, err := events.DecodeInbox(rec.Value)
		if err != nil {
			return err
		}
		if word, is := m.(*events.RunArchived); is {
			l.a.holds(string(rec.Key), word)
		}
		err = l.n.ask(ctx, "tell", sending, nil, func() error { return l.n.c.write(rec) }, "tells "+string(rec.Key))
		if err != nil {
			return err
		}
	}
	return nil
}

// Commit implements archiver.Deployment.
func (l *archiverLink) Commit(ctx context.Context, p int32, offset int64) error {
	return l.n.ask(ctx, "commit", txnStep, nil, func() error {
		l.n.c.brokers.commit(l.n.c.names.ArchiverGroup(), place{l.n.c.names.Journal(), p}, offset)
		return nil
	}, "commits")
}

var errStore = errors.New("the store has had enough")

// troubled is the store as a process sees it: it fails before and behind what it does, and a process that is dead or frozen does nothing.
type troubled struct {
	store.Store
	a *archiving
	p *archiverProcess
}

// write does something to a log, or not.
func (s *troubled) write(ctx context.Context, do func() error) error {
	switch fate := s.fate(ctx); fate {
	case writerDead:
		return errDead
	case writeFailsBefore:
		return errStore
	case writeForgotten:
		return nil
	default:
		if err := do(); err != nil || fate != writeFailsBehind {
			return err
		}
		return errStore
	}
}

// fate is what becomes of a write.
type fate int

const (
	writeHappens fate = iota
	writerDead
	writeFailsBefore
	writeFailsBehind
	writeForgotten // it is acknowledged, and does not happen
)

// fate is what becomes of the next write of a partition's goroutine.
func (s *troubled) fate(ctx context.Context) fate {
	s.p.n.Now() // while it is frozen
	if s.p.n.isDead() {
		return writerDead
	}
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	name := who(ctx)
	if s.p.dice[name] == nil {
		s.p.dice[name] = rand.New(rand.NewPCG(s.a.w.o.Seed, numbered(s.p.n.name+name)))
	}
	n := s.p.dice[name].IntN(60)
	switch {
	case n < 12 && bool(s.a.w.o.Flaws.ForgetfulArchive):
		return writeForgotten
	case s.a.w.calm || n > 3:
		return writeHappens
	case n%2 == 0:
		return writeFailsBefore
	default:
		return writeFailsBehind
	}
}

// Append implements store.Store.
func (s *troubled) Append(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error {
	return s.write(ctx, func() error { return s.Store.Append(ctx, id, at, epoch, entries) })
}

// SaveSnapshot implements store.Store.
func (s *troubled) SaveSnapshot(ctx context.Context, id string, epoch uint64, snap store.Snapshot) error {
	return s.write(ctx, func() error {
		before, _, err := s.LoadSnapshot(ctx, id)
		if err == nil {
			err = s.Store.SaveSnapshot(ctx, id, epoch, snap)
		}
		if over := before.Labels[archive.LabelOver]; err == nil && over == "true" && snap.Labels[archive.LabelOver] != over {
			s.a.w.fail("the archive: %s is over, and is said to be %v", id, snap.Labels)
		}
		return err
	})
}

// numbered is a number of a name.
func numbered(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}
