package equivalence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// place is where a record of an input log is.
type place struct {
	log       events.Source
	partition int32
	offset    int64
}

// inputTopics are the topics of the input logs.
func (w *world) inputTopics() map[events.Source]string {
	return map[events.Source]string{events.FromCommands: w.cluster.Topics.Commands(), events.FromInbox: w.cluster.Topics.Inbox()}
}

var inputLogs = []events.Source{events.FromCommands, events.FromInbox}

// lose removes the oldest records of input logs, now and then. What is read is
// mostly gone further; what is not has to be told. It does so less and less: an operator's word counts for exactly
// what is gone, and none would count where more is gone each time. The returned function ends it.
func (w *world) lose(seed uint64) (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		d := workload.NewDice(seed)
		for n := 0; workload.Pause(ctx, d.Millis(0, 4000+200*n)) == nil; n++ {
			w.expire(d, workload.Pick(d, inputLogs...), int32(d.IntN(int(w.plan.Partitions))))
		}
	})
	return func() { stop(); running.Wait() }
}

// loseAll removes the oldest records of all input logs, while a planner is gone.
func (w *world) loseAll(slot, number int) {
	d := workload.NewDice(w.plan.Seed ^ uint64(slot*100+number+1)<<32)
	for _, log := range inputLogs {
		for p := range w.plan.Partitions {
			w.expire(d, log, p)
		}
	}
}

// expire removes the oldest records of an input log, perhaps all.
func (w *world) expire(d workload.Dice, log events.Source, p int32) {
	w.expiring.Lock() // their draws may come in any order, what they read must not
	defer w.expiring.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	topic := w.inputTopics()[log]
	begin, end, err := w.bounds(ctx, topic, p)
	if err != nil {
		w.t.Errorf("asking for the bounds of %s/%d: %v", topic, p, err)
		return
	}
	if begin == end {
		return
	}
	to := end
	if d.One(2) {
		to = begin + 1 + d.Int64N(end-begin)
	}
	var at kadm.Offsets
	at.Add(kadm.Offset{Topic: topic, Partition: p, At: to})
	if _, err := w.admin.DeleteRecords(ctx, at); err != nil {
		w.t.Errorf("removing records of %s/%d: %v", topic, p, err)
		return
	}
	w.happened("a shortened input log", "topic", topic, "partition", p, "begins", to, "ends", end)
}

func (w *world) bounds(ctx context.Context, topic string, p int32) (begin, end int64, err error) {
	starts, err := w.admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return 0, 0, err
	}
	ends, err := w.admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return 0, 0, err
	}
	from, _ := starts.Lookup(topic, p)
	to, _ := ends.Lookup(topic, p)
	if from.Err != nil || to.Err != nil {
		return 0, 0, fmt.Errorf("from %w to %w", from.Err, to.Err)
	}
	return from.Offset, to.Offset, nil
}

// gone are the parts of input logs that journals tell lost, by log and partition.
type gone map[place][]*events.InputLost

// toldLost reads journals for what they tell lost.
func toldLost(journals [][]*events.Record) gone {
	all := gone{}
	for p, records := range journals {
		for _, rec := range records {
			for _, e := range rec.Events {
				if lost, ok := e.(*events.InputLost); ok {
					k := place{log: lost.Log, partition: int32(p)}
					all[k] = append(all[k], lost)
				}
			}
		}
	}
	return all
}

// tells says which records of a journal tell what lost.
func tells(records []*events.Record) (text string) {
	for _, rec := range records {
		for _, e := range rec.Events {
			if lost, ok := e.(*events.InputLost); ok {
				text += fmt.Sprintf("%s: %s [%d, %d); ", rec.Position, lost.Log, lost.From, lost.To)
			}
		}
	}
	return text
}

func (g gone) has(at place) bool {
	for _, e := range g[place{log: at.log, partition: at.partition}] {
		if e.From <= at.offset && at.offset < e.To {
			return true
		}
	}
	return false
}

// auditLosses holds that only that is told lost which is gone and was never
// decided, and that all else is decided: of each command the first copy that is
// not told lost. It returns the ids of those of which none is left.
func (w *world) auditLosses(ctx context.Context, journals [][]*events.Record) (without map[string]bool) {
	w.t.Helper()
	told := toldLost(journals)
	for at, all := range told {
		begin, _, err := w.bounds(ctx, w.inputTopics()[at.log], at.partition)
		w.must(err)
		for _, e := range all {
			w.happened("lost " + e.Log.String())
			if e.To > begin || e.From >= e.To {
				w.t.Errorf("partition %d tells %+v, and the log begins at %d", at.partition, e, begin)
			}
		}
	}
	decided := map[string]place{}
	for p, records := range journals {
		for _, rec := range records {
			at := place{rec.Input.Source, int32(p), rec.Input.Offset}
			if told.has(at) {
				w.t.Errorf("record %s of partition %d decides %s@%d, which is told lost: %s", rec.Position, p, at.log, at.offset, tells(journals[p]))
			}
			if at.log == events.FromCommands {
				decided[rec.Workflow+"\x00"+rec.ID] = at
			}
		}
	}
	without, err := undecided(w.written(), told, decided)
	w.must(err)
	if w.faults.losses && w.strangers != nil { // what was forwarded may be gone from where it belongs
		for id := range w.strangers.misplaced {
			if _, ok := decided[id]; !ok {
				without[id] = true
			}
		}
	}
	return without
}

// written are the commands that were written where they belong, but for those
// that planners forwarded.
func (w *world) written() map[place]string {
	w.asked.mu.Lock()
	defer w.asked.mu.Unlock()
	all := maps.Clone(w.asked.written)
	if w.strangers != nil {
		maps.Copy(all, w.strangers.written)
	}
	maps.DeleteFunc(all, func(_ place, id string) bool { return ofOperator(id) })
	return all
}

// undecided holds the places that commands were written to against those that
// are decided. It returns the ids of those of which all copies are told lost.
func undecided(written map[place]string, told gone, decided map[string]place) (without map[string]bool, err error) {
	without = map[string]bool{}
	var errs []error
	for at, id := range written {
		by, ok := decided[id]
		switch {
		case told.has(at):
			if !ok {
				without[id] = true
			}
		case !ok:
			errs = append(errs, fmt.Errorf("the command %q at %+v is neither decided nor told lost", id, at))
		case by.offset > at.offset:
			errs = append(errs, fmt.Errorf("the command %q at %+v is passed over for its copy at %+v and not told lost", id, at, by))
		}
	}
	return without, errors.Join(errs...)
}

// What is not decided and not told lost is noticed, and what is told lost is not
// complained of.
func TestACommandThatVanishesUntoldIsNoticed(t *testing.T) {
	in := func(offset int64) place { return place{events.FromCommands, 1, offset} }
	told := gone{in(0): {{Log: events.FromCommands, From: 2, To: 4}}}
	for name, c := range map[string]struct {
		written map[place]string
		decided map[string]place
		lawful  bool
		without int
	}{
		"decided where it is":                {map[place]string{in(1): "a"}, map[string]place{"a": in(1)}, true, 0},
		"its copy is behind it":              {map[place]string{in(1): "a", in(5): "a"}, map[string]place{"a": in(1)}, true, 0},
		"told lost":                          {map[place]string{in(3): "a"}, nil, true, 1},
		"told lost, its copy is decided":     {map[place]string{in(3): "a", in(4): "a"}, map[string]place{"a": in(4)}, true, 0},
		"neither decided nor told lost":      {map[place]string{in(4): "a"}, nil, false, 0},
		"passed over, and its copy not":      {map[place]string{in(1): "a", in(5): "a"}, map[string]place{"a": in(5)}, false, 0},
		"its last copy is not told lost too": {map[place]string{in(3): "a", in(4): "a"}, nil, false, 1},
	} {
		without, err := undecided(c.written, told, c.decided)
		if (err == nil) != c.lawful || len(without) != c.without {
			t.Errorf("%s: %v, without %v", name, err, without)
		}
	}
}
