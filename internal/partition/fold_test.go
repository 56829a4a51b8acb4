package partition

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// What an owner has in its store is what the journal folds to, up to the store's
// last record: in all tables, whatever the owner did, read again or was told
// twice, and wherever its store came from (property 4).
func TestAStoreIsTheFoldOfItsJournal(t *testing.T) {
	for seed := range (crashSeeds() + 1) / 2 {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			inBubbleOf(t, 2, func(r *rig) { folds(t, r, rand.New(rand.NewPCG(seed, 3))) })
		})
	}
}

func folds(t *testing.T, r *rig, rnd *rand.Rand) {
	r.settings.NeverRunsTwice = true
	r.settings.Window = time.Duration(500+rnd.IntN(2500)) * time.Millisecond
	r.settings.Silence = 2 * time.Second
	r.settings.LagRecords = 1 + rnd.Uint64N(60)
	r.slowAdder(rnd)
	c := &caller{r: r, rnd: rnd, p: r.partitionOf("w")}
	s := r.start("a", c.p)
	for range 4 + rnd.IntN(4) {
		for range 1 + rnd.IntN(100) {
			c.say()
		}
		s.await(Owning)
		c.echo()
		<-time.After(time.Duration(rnd.IntN(2500)) * time.Millisecond)
		s = r.disturb(s, rnd)
		if t.Failed() {
			return
		}
	}
	s.await(Owning)
	s.leave()
	r.mustBeFold(c.p)
}

// caller says what an owner may hear.
type caller struct {
	r   *rig
	rnd *rand.Rand
	p   int32
	n   int // inputs
}

// say sends something.
func (c *caller) say() {
	r := c.r
	switch c.rnd.IntN(40) {
	case 0:
		r.sendAs(fmt.Sprint("replay", r.seq), c.p, events.PartitionWorkflow(c.p), "request_replay",
			fmt.Sprintf(`{"cursor":"commands@%d","by":"ann","why":"test"}`, c.rnd.Int64N(1+r.end(r.names.Commands(), c.p))))
		r.seq++
	case 1:
		r.send("w", "checkpoint", `{}`)
	case 2: // of another partition
		r.sendAs(fmt.Sprint("x", c.rnd.IntN(1000)), c.p, c.foreign(), "input", `{"input":1}`)
	case 3:
		r.sendAs(fmt.Sprint("bad", c.rnd.IntN(1000)), c.p, "w", "input", `{`)
	case 4:
		r.producer.Produce(context.Background(), kafka.Placed(r.names.Inbox(), c.p, []byte("w"), []byte("?")), nil)
	case 5:
		r.sendAs(fmt.Sprint("start", c.rnd.IntN(20)), c.p, "w", "start", `{"definition":"counter"}`)
	case 6: // a repetition of any age
		c.input(1 + c.rnd.IntN(c.n+1))
	default:
		c.n++
		c.input(c.n)
	}
}

func (c *caller) input(n int) {
	c.r.sendAs(fmt.Sprint("in", n), c.p, "w", "input", `{"input":1}`)
}

// echo repeats what was sent last, while outcomes come in: only these are
// recorded.
func (c *caller) echo() {
	for range c.rnd.IntN(20) {
		<-time.After(time.Duration(c.rnd.IntN(100)) * time.Millisecond)
		c.input(max(1, c.n-c.rnd.IntN(5)))
	}
}

// foreign is a workflow of another partition.
func (c *caller) foreign() string {
	for i := 0; ; i++ {
		if w := fmt.Sprint("foreign", i); c.r.partitionOf(w) != c.p {
			return w
		}
	}
}

// mustBeFold holds a closed store against its journal.
func (r *rig) mustBeFold(p int32) {
	r.t.Helper()
	dir := fmt.Sprintf("a-%d", p)
	s, err := store.Open(store.Options{Dir: dir, FS: r.fs})
	r.must(err)
	live := r.rowsOf(s)
	metadata := s.Metadata()
	r.must(s.Close())
	applied := metadata.Applied.Position
	if applied.Before(metadata.Guard.Position) { // what was replayed after a restore is not on the disk (C1)
		return
	}
	folded, originals := r.fold(p, applied)
	for k, v := range live {
		if v != folded[k] && !(k.Table == rows.Outbox && originals[k]) {
			r.t.Errorf("behind %s row %+v is %s, folded %s", applied, k, wire.Text([]byte(v)), wire.Text([]byte(folded[k])))
		}
	}
	for k, v := range folded {
		if _, there := live[k]; !there && k.Table != rows.Outbox { // it may be out
			r.t.Errorf("behind %s row %+v is not there, folded %s", applied, k, wire.Text([]byte(v)))
		}
	}
}

var foldedTables = []rows.Table{
	rows.Header, rows.Fact, rows.Runnable, rows.Timer, rows.Position, rows.Ledger, rows.Expiry, rows.Received, rows.ReceivedAge, rows.Dispatch, rows.Outbox, rows.Runtime,
}

// fold replays a partition's journal into an empty store, up to a record. The outbox
// gets all effects, and is told of those that need their input's own bytes.
func (r *rig) fold(p int32, upTo events.Position) (folded map[rows.Key]string, originals map[rows.Key]bool) {
	r.t.Helper()
	s, err := store.Open(store.Options{Dir: "fold", FS: vfs.NewMem()})
	r.must(err)
	proc := loop.NewProcessor(loop.Config{
		Partition: p, Partitions: r.n, Names: r.names, Settings: r.settings.Complete(), Machine: r.hosted(nil),
		State: newStoreState(s, store.NewBudget(1<<20), &loop.Stats{}), Stored: s, Clock: dawn{}, Stats: &loop.Stats{}, Logger: r.logger,
	})
	r.must(proc.Recall())
	var at journal.Mark
	for i, rec := range r.lawful(p) {
		if upTo.Before(rec.Position) {
			break
		}
		at = at.Next(rec.Position, int64(i), nil)
		r.must(proc.Replay(rec, at, false))
	}
	r.must(proc.WriteReplayed())
	waiting, err := proc.Originals()
	r.must(err)
	originals = map[rows.Key]bool{}
	for _, o := range slices.Concat(waiting[:]...) {
		originals[o.Row()] = true
	}
	folded = r.rowsOf(s)
	r.must(s.Close())
	return folded, originals
}

// rowsOf are the rows of a store that a journal folds to.
func (r *rig) rowsOf(s *store.Store) map[rows.Key]string {
	r.t.Helper()
	all := map[rows.Key]string{}
	for _, table := range foldedTables {
		r.must(s.ScanTable(table, func(k rows.Key, value []byte) bool {
			all[k] = string(value)
			return true
		}))
	}
	return all
}

// dawn is a Clock for which no reply is too old to be given again.
type dawn struct{}

// Now implements Clock.
func (dawn) Now() time.Time { return time.UnixMilli(0) }
