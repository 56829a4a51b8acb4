package partition

import (
	"context"
	"errors"
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

// awaitClock waits until the first owner says how the broker's clock differs.
func (s *site) awaitClock(how string) {
	s.r.t.Helper()
	for range 6000 {
		if at := s.owners[0].Status(); at.State == Recovering && strings.Contains(at.Why, "the broker's clock is "+how) {
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
		b.awaitClock("1h0m0s behind")
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
		clock.Store(int64(900 * time.Millisecond)) // within half the margin
		<-time.After(30 * time.Second)
		if at := s.await(Owning); at.Epoch != 1 {
			t.Fatalf("a difference within half the margin ended epoch 1: %+v", at)
		}
		clock.Store(int64(1500 * time.Millisecond)) // less than the margin: another one may be as far behind
		s.awaitClock("1.5s behind")
		id := r.send("w", "input", `{"input": 7}`)
		<-time.After(30 * time.Second)
		if n := r.has(p, "InputAccepted"); n != 0 {
			t.Error("an input was decided by a wrong clock")
		}
		clock.Store(0)
		r.reply(id, 1)
	})
}

// Before a lease that ran out by the clock is taken over, the clock is compared
// again: it may have been set off while the lease was waited out.
func TestJ2AClockThatIsSetOffDuringTheWaitTakesNothingOver(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		a := r.start("a", p)
		defer a.leave()
		a.await(Owning)
		// An owner that finds itself fenced gives the partition up: the next checkpoint is far.
		r.passes("its first checkpoint is written", func() bool { return a.Stats.Checkpoints.Load() > 0 })
		var clock fastClock
		r.clock = &clock
		b := r.start("b", p, (p+1)%r.n) // it compares for the other one
		defer b.leave()
		b.await(Waiting)
		<-time.After(time.Second)
		clock.Store(int64(time.Hour))
		b.awaitClock("1h0m0s behind")
		if n := r.has(p, "AuthorityAcquired"); n != 1 {
			t.Errorf("the partition was acquired %d times, want once", n)
		}
		clock.Store(0)
	})
}

// A clock that is behind shows by what the inbox brings, too, and before anything
// is taken over: a lease that it made would end in the past for everybody else.
func TestJ2AnOwnerBehindTheBrokersClockTakesNothingOver(t *testing.T) {
	inBubble(t, func(r *rig) {
		var clock fastClock
		clock.Store(int64(-time.Hour))
		r.clock = &clock
		p := r.partitionOf("w")
		a := r.start("a", p)
		defer a.leave()
		a.awaitClock("1h0m0s ahead")
		clock.Store(0)
		a.await(Owning)
	})
}

func TestJ2AnOwnerBehindTheBrokersClockDecidesNoOutcome(t *testing.T) {
	m := newModel(t, Settings{})
	task := m.running("w")
	n := len(m.journal)
	m.now = m.now.Add(time.Minute)
	m.outcome(task, "1")
	m.now = m.now.Add(-time.Minute)
	var clock *ClockError
	if err := m.step(); !errors.As(err, &clock) || clock.Ahead != 60_000 || len(m.journal) != n {
		t.Errorf("got %v and %s", err, m)
	}
}

// One record with a stamp that a broker with a wrong clock has made stops nothing
// for long, and neither the window nor timers run ahead with it.
func TestJ2AStampAheadOfARightClockStopsNothing(t *testing.T) {
	m := newModel(t, Settings{Window: time.Hour})
	m.p.clock.excused = 25 * time.Hour.Milliseconds()
	at := m.now
	m.now = at.Add(24 * time.Hour)
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.now = at
	m.mustStep()
	m.ack()
	if got := m.record(0).Input.Stamp; got != at.UnixMilli() {
		t.Errorf("it is recorded as of %d, want the clock's %d", got, at.UnixMilli())
	}
	if got := m.p.inputs[events.FromCommands].readTo; got != at.UnixMilli() {
		t.Errorf("commands count as read to %d, want %d", got, at.UnixMilli())
	}
	m.command("b", "w", "input", `{"input":1}`)
	m.mustStep()
	if m.ack(); m.names(1) != "InputAccepted RunnableDispatched " {
		t.Errorf("the next command is %s", m.names(1))
	}
}

// The comparison tells a broker that was wrong from a clock that is.
func TestJ2AStampAheadIsExcusedByAComparison(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		a := r.start("a", p)
		defer a.leave()
		a.await(Owning)
		w := a.clock
		w.suspected(time.Hour.Milliseconds())
		if err := w.agrees(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := w.excused.Load(); got < time.Hour.Milliseconds() {
			t.Errorf("stamps may be %d ms ahead, want an hour and more", got)
		}
	})
}

// A clock that was ahead for a moment has made a lease that ends late. It costs no
// more than a lease, also where the journal has been trimmed beyond its acquisition.
func TestO2ALeaseOfAClockThatWasAheadIsWaitedOutForATerm(t *testing.T) {
	for name, trimmed := range map[string]bool{"a whole journal": false, "a trimmed journal": true} {
		t.Run(name, func(t *testing.T) { waitedOut(t, trimmed) })
	}
}

func waitedOut(t *testing.T, trimmed bool) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		var clock fastClock
		r.clock = &clock
		a := r.start("a", p)
		a.await(Owning)
		clock.Store(int64(9 * time.Second)) // the lease has not run out by that
		<-time.After(900 * time.Millisecond)
		r.send("w", "start", `{"definition":"counter"}`) // the renewal comes with it, if it has not come before
		<-time.After(1100 * time.Millisecond)
		a.kill()
		if below := r.marker(p).needs(); trimmed {
			if below == 0 {
				t.Fatal("no checkpoint covers the acquisition")
			}
			r.purge(r.names.Journal(), p, below)
		}
		r.clock = nil
		killed := time.Now()
		b := r.start("b", p)
		defer b.leave()
		b.await(Owning)
		if waited := time.Since(killed); waited < 5*time.Second || waited > 11*time.Second {
			t.Errorf("the successor waited %s for a lease of 10 s", waited)
		}
	})
}

// Who waits while another owner decides does not run ahead of it.
func TestJ2TimeGoesOnFromTheNewestRecordNotFromTheBeginningOfTheWait(t *testing.T) {
	m := newModel(t, Settings{})
	m.p.tick()
	m.now = m.now.Add(10 * time.Second)
	m.p.took(&events.Record{Time: m.now.UnixMilli()}, m.p.tail)
	m.now = m.now.Add(time.Second)
	m.p.tick()
	if got, want := m.p.clock.now, m.now.UnixMilli(); got != want {
		t.Errorf("a second after a replayed record it is %d ms later than by the clock", got-want)
	}
}

// An owner stops a term after its last renewal by any clock, also if the renewal
// was made by one that was ahead: its successor waits no longer.
func TestE5ALeaseOfAClockThatWasAheadEndsInTime(t *testing.T) {
	m := newModel(t, Settings{Lease: 10 * time.Second, Margin: 2 * time.Second})
	m.now = m.now.Add(9 * time.Second)
	m.mustStep()
	m.batch.Renewed = append(m.batch.Renewed, Renewed{Until: m.p.renewal()})
	m.now = m.now.Add(-9 * time.Second)
	m.mustStep()
	if !m.p.leased() {
		t.Error("the renewed lease does not count")
	}
	m.now = m.now.Add(9 * time.Second)
	m.mustStep()
	if m.p.leased() {
		t.Error("a second before the end of the lease effects are released")
	}
}

// Record time never goes back, so it stays ahead once a clock was. Who asks has
// the clock of the day.
func TestJ2QueriesExpireByTheClockOfTheDay(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("start", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	m.ack()
	m.now = m.now.Add(time.Second)
	m.p.clock.met(m.now.Add(time.Hour).UnixMilli()) // of a record that was made by a wrong clock
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
	m.p.clock.met(m.now.Add(time.Hour).UnixMilli()) // as a replay finds it
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
		s.awaitClock("1h0m0s behind")
		if n := r.has(p, "AuthorityAcquired"); n != 1 {
			t.Errorf("the partition was acquired %d times, want once", n)
		}
		clock.Store(0)
		s.await(Owning)
	})
}
