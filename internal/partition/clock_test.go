package partition

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// fastClock is ahead of the broker's by so many nanoseconds.
type fastClock struct{ atomic.Int64 }

// Now implements Clock.
func (c *fastClock) Now() time.Time { return time.Now().Add(time.Duration(c.Load())) }

// awaitClock waits until the first owner says that its clock is ahead.
func (s *site) awaitClock() {
	s.r.t.Helper()
	for range 6000 {
		if at := s.owners[0].Status(); at.State == Recovering && strings.Contains(at.Why, "the broker's clock is more than 2s behind") {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	s.r.t.Fatalf("the partition is %+v, want it to complain about its clock", s.owners[0].Status())
}

func TestJ2AnOwnerAheadOfTheBrokersClockTakesNothingOver(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		a := r.start("a", p)
		defer a.leave()
		a.await(Owning)
		var clock fastClock
		clock.Store(int64(time.Hour)) // by it the lease of a has run out
		r.clock = &clock
		b := r.start("b", p)
		defer b.leave()
		b.awaitClock()
		if n := r.has(p, "AuthorityAcquired"); n != 1 {
			t.Errorf("the partition was acquired %d times, want once", n)
		}
		clock.Store(0)
		b.await(Owning)
	})
}

func TestJ2AnOwnerWhoseClockRunsAheadStopsDeciding(t *testing.T) {
	inBubble(t, func(r *rig) {
		var clock fastClock
		r.clock = &clock
		p := r.partitionOf("w")
		s := r.start("a", p)
		defer s.leave()
		r.do("w", "start", `{"definition":"counter"}`)
		clock.Store(int64(1500 * time.Millisecond)) // within the margin
		<-time.After(30 * time.Second)
		if at := s.await(Owning); at.Epoch != 1 {
			t.Fatalf("a difference within the margin ended epoch 1: %+v", at)
		}
		clock.Store(int64(4 * time.Second)) // not so far that the lease runs out
		s.awaitClock()
		id := r.send("w", "input", `{"input": 7}`)
		<-time.After(30 * time.Second)
		if n := r.has(p, "InputAccepted"); n != 0 {
			t.Error("an input was decided by a wrong clock")
		}
		clock.Store(0)
		r.reply(id, 1)
	})
}

// Record time never goes back, so it stays ahead once a clock was. Who asks has
// the clock of the day.
func TestJ2QueriesExpireByTheClockOfTheDay(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("start", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	m.ack()
	m.now = m.now.Add(time.Second)
	m.p.clock.last = m.now.Add(time.Hour).UnixMilli() // of a record that was made by a wrong clock
	m.p.clock.since = m.now
	m.p.lease.LeasedUntil = m.now.Add(2 * time.Hour).UnixMilli()
	q := &events.Query{Kind: "workflow", Workflow: "w", ReplyTo: events.ReplyTo{Address: "tester", ID: "q"}, Deadline: m.now.Add(30 * time.Second).UnixMilli()}
	m.batch.Queries = append(m.batch.Queries, q)
	m.mustStep()
	m.ends()
	m.mustStep()
	if n := m.p.Stats.Expired.Load(); n != 0 || m.p.Stats.Queries.Load() != 1 {
		t.Errorf("%d queries expired, %d were answered", n, m.p.Stats.Queries.Load())
	}
}

// Record time stays ahead for ever once a clock was. What waits for the ends of
// the inputs must not wait until the clock of the day is there too.
func TestJ5ATimeoutFiresThoughRecordTimeIsAheadOfTheClock(t *testing.T) {
	m := newModel(t, Settings{Lease: 3 * time.Hour})
	m.p.clock.last, m.p.clock.since = m.now.Add(time.Hour).UnixMilli(), m.now // as a replay finds it
	m.mustTimeOut()
}

// By a clock that has jumped the lease has run out. What would be decided by it
// would be so far ahead for ever, and the leases of all that follow with it.
func TestJ2NothingIsDecidedByAClockThatJumpsBeyondTheLease(t *testing.T) {
	m := newModel(t, Settings{})
	m.running("w")
	m.ack()
	n := len(m.journal)
	m.now = m.now.Add(time.Hour)
	m.command("x", "w", "input", `{"input":1}`)
	m.mustStep()
	if len(m.journal) > n {
		t.Errorf("it was decided at %d, an hour ahead", m.record(n).Time)
	}
}

// What the last comparison has found is worth nothing once the clock has jumped.
func TestJ2AClockThatHasJumpedTakesNothingOver(t *testing.T) {
	inBubble(t, func(r *rig) {
		var clock fastClock
		r.clock = &clock
		p := r.partitionOf("w")
		s := r.start("a", p)
		defer s.leave()
		s.await(Owning)
		clock.Store(int64(time.Hour))
		s.awaitClock()
		if n := r.has(p, "AuthorityAcquired"); n != 1 {
			t.Errorf("the partition was acquired %d times, want once", n)
		}
		clock.Store(0)
		s.await(Owning)
	})
}
