package partition

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// taken is a Producer that keeps what it is given, and takes it at once.
type taken struct {
	mu      sync.Mutex
	records []*kgo.Record
}

func (p *taken) Produce(_ context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
	p.mu.Lock()
	p.records = append(p.records, r)
	p.mu.Unlock()
	done(r, nil)
}

// all are the records so far.
func (p *taken) all() []*kgo.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.records)
}

func (p *taken) Close() {}

// Under load so many are sent at once; of the others the newest of each
// workflow, in order and soon, and those whose place it takes count as out.
func TestUnderLoadTheNewestSummaryIsSent(t *testing.T) {
	for _, all := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			settings := Settings{}.Complete()
			out := &taken{}
			s := newStatuses(&settings)
			box := newMailbox(nil, &settings)
			l := &kafkaLog{ctx: t.Context(), host: &Host{status: out}, box: box}
			const workflows, turns = statusesAtOnce + 20, 3
			put := func(w int, seq uint64) {
				o := &Outgoing{Key: fmt.Sprint(w), Value: fmt.Append(nil, seq), Decided: events.Position{Epoch: 1, Seq: seq}}
				o.Fill("status", 0)
				s.put(l, o)
			}
			for turn := range turns {
				for w := range workflows {
					put(w, uint64(2+turn))
				}
			}
			put(workflows-1, 1) // the broker refused it for a while
			if n := len(out.all()); n != statusesAtOnce {
				t.Errorf("%d were sent at once", n)
			}
			if all {
				s.flushAll()
			} else {
				time.Sleep(s.delay)
				synctest.Wait()
			}
			last := map[string]string{}
			for _, r := range out.all() {
				if string(r.Value) < last[string(r.Key)] {
					t.Errorf("of %s %s comes behind %s", r.Key, r.Value, last[string(r.Key)])
				}
				last[string(r.Key)] = string(r.Value)
			}
			for w := range workflows {
				if got := last[fmt.Sprint(w)]; got != fmt.Sprint(turns+1) {
					t.Errorf("the last of %d is %q", w, got)
				}
			}
			var b Batch
			box.take(&b)
			once := map[*Outgoing]bool{}
			for _, p := range b.Produced {
				once[p.Out] = true
			}
			if n := workflows*turns + 1; len(once) != n || len(b.Produced) != n || len(out.all()) != statusesAtOnce+workflows {
				t.Errorf("%d of %d count as out, in %d reports, of %d records", len(once), n, len(b.Produced), len(out.all()))
			}
			time.Sleep(2 * s.delay) // what the timer finds is sent already
			synctest.Wait()
			if len(s.waiting) != 0 || len(s.newest) != 0 || s.armed {
				t.Errorf("%d still wait, %d are remembered", len(s.waiting), len(s.newest))
			}
		})
	}
}

// A process that stood still while a summary waited asks the lease again: only
// its owner may send it then (E5).
func TestALateSummaryGoesBackToItsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := Settings{}.Complete()
		out := &taken{}
		s := newStatuses(&settings)
		box := newMailbox(nil, &settings)
		l := &kafkaLog{ctx: t.Context(), host: &Host{status: out, latest: s}, box: box}
		for w := range statusesAtOnce + 1 {
			o := &Outgoing{Key: fmt.Sprint(w), Decided: events.Position{Epoch: 1, Seq: 1}}
			o.Fill("status", 0)
			s.put(l, o)
		}
		s.order.Lock()
		s.waiting[0].due = time.Now().Add(-2 * s.delay)
		s.order.Unlock()
		s.flushDue()
		var b Batch
		box.take(&b)
		if len(out.all()) != statusesAtOnce || len(b.Commands) != 1 {
			t.Errorf("%d were sent, %d went back", len(out.all()), len(b.Commands))
		}
	})
}

// desk is the way of one workflow's summaries: an owner, the statuses, and a
// broker that answers when it is told.
type desk struct {
	t      *testing.T
	s      *statuses
	p      *Processor
	now    time.Time // of the owner
	late   bool      // its lease has no margin left
	log    *kafkaLog
	broker *slowBroker
	shut   []*Outgoing        // what is aside, as its outbox row makes it again
	back   map[*Outgoing]bool // what was set aside
	out    []uint64           // what counts as out
	topic  []uint64           // what the broker has written, in its order
}

// slowBroker is a Producer whose records wait for their answers.
type slowBroker struct {
	mu      sync.Mutex
	waiting []question
}

type question struct {
	r    *kgo.Record
	done func(*kgo.Record, error)
}

func (b *slowBroker) Produce(_ context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, question{r, done})
}

func (*slowBroker) Close() {}

func newDesk(t *testing.T) *desk {
	settings := Settings{}.Complete()
	d := &desk{t: t, broker: &slowBroker{}, s: newStatuses(&settings), back: map[*Outgoing]bool{}}
	host := &Host{HostConfig: HostConfig{Settings: settings}, status: d.broker, effects: d.broker, latest: d.s, logger: slog.New(slog.DiscardHandler)}
	host.queues = newQueueCounts(host)
	d.log = &kafkaLog{ctx: t.Context(), host: host, box: newMailbox(nil, &settings)}
	d.own(settings)
	return d
}

// own makes the owner, with a lease from now on.
func (d *desk) own(settings Settings) {
	d.t.Helper()
	s, err := store.Open(store.Options{Dir: "desk", FS: vfs.NewMem()})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { s.Close() })
	d.now = time.UnixMilli(1)
	d.p = NewProcessor(Config{
		Settings: settings, Log: d.log, State: newStoreState(s, store.NewBudget(1<<10)), Stored: s, Clock: d,
		Stats: &Stats{}, Logger: slog.New(slog.DiscardHandler),
	})
	acquired := &events.AuthorityAcquired{Owner: "me", LeaseID: "l", LeasedUntil: 1 + settings.Lease.Milliseconds()}
	rec := &events.Record{Position: events.Position{Epoch: 1, Seq: 1}, Time: 1, Events: []events.Event{acquired}}
	if err := d.p.replay(rec, journal.Mark{Position: rec.Position}, false); err != nil {
		d.t.Fatal(err)
	}
}

// Now implements Clock.
func (d *desk) Now() time.Time { return d.now }

// linger lets the lease come to its margin.
func (d *desk) linger() {
	d.late, d.now = true, time.UnixMilli(d.p.Lease().LeasedUntil-1)
	d.p.tick()
}

// renew gives the lease its margin again.
func (d *desk) renew() {
	d.late = false
	d.p.renewed(Renewed{Until: d.now.Add(d.p.Settings.Lease).UnixMilli()})
}

// put releases the summary of a record, behind what waits for the lease after it
// was aside.
func (d *desk) put(seq uint64) {
	o := &Outgoing{Kind: machine.StatusEffect, Key: "w", Value: fmt.Append(nil, seq), Decided: events.Position{Epoch: 1, Seq: seq}}
	if d.late {
		d.shut = append(d.shut, o)
		return
	}
	d.log.Produce(o)
}

// answer lets the broker take, or refuse, the record that waits longest.
func (d *desk) answer(err error) {
	d.t.Helper()
	if len(d.broker.waiting) == 0 {
		d.t.Fatal("the broker is asked nothing")
	}
	q := d.broker.waiting[0]
	d.broker.waiting = d.broker.waiting[1:]
	if err == nil {
		d.topic = append(d.topic, number(d.t, q.r.Value))
	}
	q.done(q.r, err)
	d.turn()
}

// turn is a step of the owner.
func (d *desk) turn() {
	var b Batch
	d.log.box.take(&b)
	for _, r := range b.Produced {
		o := r.Out
		if r.Shut != (Outlet{}) {
			d.back[o] = true
			d.shut = append(d.shut, &Outgoing{Kind: o.Kind, Key: o.Key, Value: o.Value, Decided: o.Decided, Number: o.Number})
			continue
		}
		if d.back[o] {
			d.shut = slices.DeleteFunc(d.shut, func(s *Outgoing) bool { return s.Decided == o.Decided })
		}
		d.out = append(d.out, number(d.t, o.Value))
	}
	for _, do := range b.Commands {
		do(d.p)
	}
}

// settle lets all timers run that are due soon, and the owner step; it lets out
// again what is aside.
func (d *desk) settle() {
	for range 3 {
		time.Sleep(time.Second)
		synctest.Wait()
		d.turn()
		for _, o := range d.shut {
			d.p.releaseAgain(o)
		}
		d.shut = nil
	}
}

func number(t *testing.T, value []byte) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Whatever the broker refuses for a while, the newest summary is the last one
// written, and each counts as out once. An older one counts no later than a
// newer one: a crash in between leaves no old one in the outbox alone (E1).
func TestARefusedSummaryNeverComesBehindANewerOne(t *testing.T) {
	busy := kerr.TopicAuthorizationFailed
	for name, c := range map[string]struct {
		script func(d *desk)
		topic  []uint64
	}{
		"nothing is newer": {func(d *desk) {
			d.put(1)
			d.answer(busy)
			d.settle()
			d.answer(nil)
		}, []uint64{1}},
		"a newer one is on its way": {func(d *desk) {
			d.put(1)
			d.put(2)
			d.answer(busy)
			d.settle()
			d.answer(nil)
		}, []uint64{2}},
		"a newer one was written meanwhile": {func(d *desk) {
			d.put(1)
			d.answer(busy)
			d.put(2)
			d.answer(nil)
			d.settle()
		}, []uint64{2}},
		"both are refused": {func(d *desk) {
			d.put(1)
			d.put(2)
			d.answer(busy)
			d.answer(busy)
			d.settle()
			d.answer(nil)
		}, []uint64{2}},
		"a newer one is refused in between": {func(d *desk) {
			d.put(1)
			d.answer(busy)
			d.put(2)
			d.answer(busy)
			d.put(3)
			d.settle()
			d.answer(nil)
		}, []uint64{3}},
		"the lease has no margin when it comes again": {func(d *desk) {
			d.put(1)
			d.answer(busy)
			d.linger()
			d.settle()
			d.put(2)
			d.renew()
			d.answer(nil)
			d.settle()
			d.answer(nil)
		}, []uint64{1, 2}},
		"the lease has no margin and nothing is newer": {func(d *desk) {
			d.put(1)
			d.answer(busy)
			d.linger()
			d.settle()
			d.renew()
			d.answer(nil)
		}, []uint64{1}},
		"the owner was asked because it is late": {func(d *desk) {
			d.s.since, d.s.sent = time.Now(), statusesAtOnce
			d.put(1)
			d.s.waiting[0].due = time.Now().Add(-2 * d.s.delay)
			d.s.flushDue()
			d.s.sent = 0
			d.put(2)
			d.answer(nil)
			d.settle()
		}, []uint64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				c.script(d)
				d.settle()
				if n := len(d.broker.waiting); n > 0 {
					t.Errorf("%d more were sent, the first is %s", n, d.broker.waiting[0].r.Value)
				}
				last := c.topic[len(c.topic)-1]
				if !slices.Equal(d.topic, c.topic) {
					t.Errorf("the topic has %v, want %v", d.topic, c.topic)
				}
				var all []uint64
				for n := range last {
					all = append(all, n+1)
				}
				if !slices.Equal(d.out, all) {
					t.Errorf("%v count as out, want %v", d.out, all)
				}
				if len(d.s.newest) > 0 {
					t.Errorf("%d summaries are remembered that are out", len(d.s.newest))
				}
			})
		})
	}
}

// What a reign leaves behind is forgotten with it.
func TestSummariesOfAReignAreForgottenWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.put(1)
		d.answer(kerr.TopicAuthorizationFailed)
		if len(d.s.newest) != 1 {
			t.Errorf("%d are remembered while one waits", len(d.s.newest))
		}
		d.s.forget(d.log)
		if len(d.s.newest) != 0 {
			t.Errorf("%d are remembered of a reign that ended", len(d.s.newest))
		}
	})
}
