package partition

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/partition/feed"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
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
			settings := loop.Settings{}.Complete()
			out := &taken{}
			s := newStatuses(&settings)
			box := feed.NewMailbox(nil, &settings)
			l := &kafkaLog{ctx: t.Context(), host: &Host{status: out}, box: box}
			const workflows, turns = statusesAtOnce + 20, 3
			put := func(w int, seq uint64) {
				o := &loop.Outgoing{Key: fmt.Sprint(w), Value: fmt.Append(nil, seq), Decided: events.Position{Epoch: 1, Seq: seq}}
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
			var b loop.Batch
			box.Take(&b)
			once := map[*loop.Outgoing]bool{}
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
		settings := loop.Settings{}.Complete()
		out := &taken{}
		s := newStatuses(&settings)
		box := feed.NewMailbox(nil, &settings)
		l := &kafkaLog{ctx: t.Context(), host: &Host{status: out, latest: s}, box: box}
		for w := range statusesAtOnce + 1 {
			o := &loop.Outgoing{Key: fmt.Sprint(w), Decided: events.Position{Epoch: 1, Seq: 1}}
			o.Fill("status", 0)
			s.put(l, o)
		}
		s.order.Lock()
		s.waiting[0].due = time.Now().Add(-2 * s.delay)
		s.order.Unlock()
		s.flushDue()
		var b loop.Batch
		box.Take(&b)
		if len(out.all()) != statusesAtOnce || len(b.Commands) != 1 {
			t.Errorf("%d were sent, %d went back", len(out.all()), len(b.Commands))
		}
	})
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

// What a tenure leaves behind is forgotten with it.
func TestSummariesOfATenureAreForgottenWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.put(1)
		d.answer(kerr.TopicAuthorizationFailed)
		if len(d.s.newest) != 1 {
			t.Errorf("%d are remembered while one waits", len(d.s.newest))
		}
		d.s.forget(d.log)
		if len(d.s.newest) != 0 {
			t.Errorf("%d are remembered of a tenure that ended", len(d.s.newest))
		}
	})
}
