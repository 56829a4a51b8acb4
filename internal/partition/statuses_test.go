package partition

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

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
			settings := Settings{}.Complete()
			out := &taken{}
			s := newStatuses(&settings)
			box := newMailbox(nil, &settings)
			l := &kafkaLog{ctx: t.Context(), host: &Host{status: out}, box: box}
			const workflows, turns = statusesAtOnce + 20, 3
			put := func(w int, seq uint64) {
				o := &Outgoing{Key: fmt.Sprint(w), Value: fmt.Append(nil, seq), Decided: events.Position{Epoch: 1, Seq: seq}}
				o.fill("status", 0)
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
			if len(s.order) != 0 || len(s.waiting) != 0 || s.armed {
				t.Errorf("%d still wait", len(s.order))
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
			o.fill("status", 0)
			s.put(l, o)
		}
		s.mu.Lock()
		s.order[0].due = time.Now().Add(-2 * s.delay)
		s.mu.Unlock()
		s.flushDue()
		var b Batch
		box.take(&b)
		if len(out.all()) != statusesAtOnce || len(b.Commands) != 1 {
			t.Errorf("%d were sent, %d went back", len(out.all()), len(b.Commands))
		}
	})
}
