package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// anotherDay is how many seeds there are to one whose run has a second day.
const anotherDay = 8

// forgets is after how many records of a tenure its ledger forgets what is older
// than two windows, at most.
const forgets = 64

// nextDay lets the two windows pass for which the ledger keeps its entries, while
// nobody is there, and then an operator let a partition read all its commands again. It
// must come to nothing: what the ledger has forgotten is refused for its age. The
// night is longer than journals keep what they have, too.
func (w *world) nextDay() {
	w.evening = true
	if w.o.Seed%(2*anotherDay) == 0 {
		w.dieAtRest()
	} else {
		w.audit.leaveInOrder()
	}
	w.work(func() { _ = workload.Pause(w.ctx, time.Second) }) // what has committed has its control record
	w.audit.until("the evening ends", func() bool { return !w.busy() })
	w.expireJournals()
	w.mislayCommands()
	night := 2*w.settings().Complete().Window + time.Hour
	w.note("%v pass, and everybody comes again", night)
	time.Sleep(night)
	for slot := range w.nodes {
		w.injector.restart(slot)
	}
	w.work(func() {
		if err := w.readAgain(w.ctx); err != nil && w.ctx.Err() == nil {
			w.fail("the next day: %w", err)
		}
	})
	w.audit.until("everything is read again", func() bool { return !w.busy() })
}

// restsFor is long enough for an owner at rest to say so in its checkpoints.
const restsFor = 30 * time.Second

// dieAtRest kills all planners after a while in which nothing happened, and
// everything was in a checkpoint.
func (w *world) dieAtRest() {
	if !w.audit.until("everybody owns what it was given", w.audit.owned) {
		return
	}
	w.work(func() {
		c := w.caller("evening")
		for p := range w.plan.Partitions {
			if err := c.order(w.ctx, "checkpoint", p, map[string]any{"by": "an operator", "why": "it stands behind all that is read again"}); err != nil && w.ctx.Err() == nil {
				w.fail("the evening: %w", err)
			}
		}
		_ = workload.Pause(w.ctx, restsFor) // an error is the run's end
	})
	w.audit.until("everything rests", func() bool { return !w.busy() })
	rng := rand.New(rand.NewPCG(w.o.Seed, 3))
	for _, n := range w.nodes {
		w.injector.kill(n, rng)
	}
	w.audit.until("all planners have ended", w.audit.allEnded)
}

// expireJournals lets retention take all that journals have, where that is in a
// checkpoint of everything: behind it there is nothing that counts.
func (w *world) expireJournals() {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	for p := range w.plan.Partitions {
		var filter journal.Filter
		var last *kgo.Record
		for _, k := range w.audit.journal(p) {
			if h, err := journal.ParseHeaders(k.Headers); err == nil && h.Lawful(&filter) {
				last = k
			}
		}
		at := place{w.c.names.Journal(), p}
		if last == nil || w.c.brokers.committed(w.c.names.PlannerGroup())[at] <= last.Offset || !full(last) {
			continue
		}
		end := w.c.offset(at, ends)
		w.note("the journal of partition %d expires, to %d", p, end)
		w.c.trim(at, end)
	}
}

// mislayCommands gives some commands once more, each to another partition than
// before, as a client does that hashes keys in another way. Nobody reads them before
// the next day: they are as old as they are all the same, and decided already.
func (w *world) mislayCommands() {
	rng := rand.New(rand.NewPCG(w.o.Seed, 4))
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	for p := range w.c.partitions {
		for range 2 {
			if rec := w.injector.someRecord(rng, place{w.c.names.Commands(), p}); rec != nil && w.c.partitions > 1 {
				rec.Partition = (p + 1 + rng.Int32N(w.c.partitions-1)) % w.c.partitions
				w.injector.put(rec)
			}
		}
	}
}

// full reports whether a checkpoint behind a record has everything.
func full(k *kgo.Record) bool {
	rec, err := journal.Decode(k)
	if err != nil {
		return false
	}
	switch rec.Events[0].(type) {
	case *events.AuthorityReleased, *events.CheckpointRequested:
		return rec.Workflow == "" || strings.HasPrefix(rec.Workflow, "_partition/")
	}
	return false
}

// order gives an operator's command to a partition itself.
func (u *caller) order(ctx context.Context, name string, p int32, body map[string]any) error {
	body["by"] = "an operator"
	_, err := u.command(ctx, name, events.PartitionWorkflow(p), u.name+"-"+name, body)
	return err
}

// readAgain does enough for the ledger to forget, has the commands read again,
// and looks at the workflows when that is done.
func (w *world) readAgain(ctx context.Context) error {
	c := w.caller("next-day")
	names, id := w.c.names, w.plan.Workflows[0].ID
	for range forgets {
		c.send(kafka.Keyed(names.Commands(), []byte(id), []byte("{}"), kafka.Header(events.HeaderType, []byte(events.CommandType("retry")))))
	}
	p := kafka.PartitionFor([]byte(id), w.plan.Partitions)
	w.c.mu.Lock()
	first := w.c.offset(place{names.Commands(), p}, starts)
	w.c.mu.Unlock()
	if err := c.order(ctx, "request_replay", p, map[string]any{"cursor": fmt.Sprintf("commands@%d", first), "by": "an operator", "why": "the ledger has forgotten"}); err != nil {
		return err
	}
	if err := c.order(ctx, "checkpoint", p, map[string]any{"by": "an operator", "why": "it stands behind all that is read again"}); err != nil { // it stands behind all that is read again
		return err
	}
	for _, u := range w.users {
		if err := u.rest(ctx); err != nil {
			return err
		}
	}
	return nil
}
