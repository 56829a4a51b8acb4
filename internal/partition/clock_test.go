package partition

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"
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
