package loop

import (
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
)

// Leased reports whether the lease has its margin left: only then effects are
// released and queries answered.
func (p *Processor) Leased() bool {
	// The next owner's clock may be ahead of this one by the margin (E5).
	return p.Flaws.NoLease.On() || !p.dismissed && p.clock.now < p.lease.LeasedUntil-p.Settings.Margin.Milliseconds()
}

// Renewal is until when a lease lasts that is renewed now. The owner counts from
// now on whatever its clock does: so its successor may do so too.
func (p *Processor) Renewal() int64 { return p.RecordTime() + p.Settings.Lease.Milliseconds() }

// Renewed is the lease as a renewal shows it that begins now. One that an operator has marked stale is shown so for a
// third of its term before a renewal clears the mark: nobody would see it otherwise.
func (p *Processor) Renewed() runtime.Lease {
	l := p.lease
	l.LeasedUntil = p.Renewal()
	if p.staleSince != 0 && p.clock.now >= p.staleSince+p.Settings.Lease.Milliseconds()/3 {
		l.Stale, l.StaleReason = false, ""
	}
	return l
}

// Renew takes a renewal whose commit is known. One that is known only after
// the old expiry does not count: the partition is acquired anew.
func (p *Processor) Renew(r Renewed) {
	if !p.lease.Held() { // given up meanwhile
		return
	}
	if p.lease.Expired(p.clock.now) { // it came too late (O5)
		p.Fail(ErrExpired)
		return
	}
	next, err := p.lease.Renew(p.lease.Owner, p.lease.LeaseID, r.Until, p.epoch)
	if err != nil {
		p.Fail(err)
		return
	}
	if p.lease.Stale && (r.Stale || p.staleSince == 0) { // the mark has not been shown for long enough, or not at all
		next.Stale, next.StaleReason = true, p.lease.StaleReason
	}
	if r.Stale && p.staleSince == 0 {
		p.staleSince = p.clock.now
	}
	p.lease = next
	if p.Leased() { // its commit may have taken long
		p.outside.unhold()
	}
}

// LeaseOver reports whether the lease has run out. Then nothing is decided: the clock
// may have jumped, and record time would never come back.
func (p *Processor) LeaseOver() bool { return !p.Flaws.NoLease.On() && p.lease.Expired(p.clock.now) }

// CheckLease ends the tenure of an owner that could not renew in time, or whose
// lease an operator released.
func (p *Processor) CheckLease() {
	switch {
	case p.LeaseOver():
		p.Fail(ErrExpired)
	case p.dismissed && !p.Flaws.NoLease.On():
		p.Fail(errDismissed)
	}
}

// NextWake is when the processor wants a step even if nothing arrives. Without
// room to run ahead nothing that is due can be decided: what makes room arrives.
func (p *Processor) NextWake() time.Duration {
	next := p.lease.LeasedUntil
	if p.Flaws.NoLease.On() {
		next = p.clock.now + p.Settings.Lease.Milliseconds()
	}
	if p.room() {
		next = min(next, p.timers.next, p.watch.next)
		if len(p.hand.turns) > 0 {
			next = p.clock.now
		}
	}
	if p.unwritten.records > 0 {
		next = min(next, p.unwritten.since+p.Settings.WriteDelay.Milliseconds())
	}
	if len(p.reads.waiting) > 0 {
		next = min(next, p.clock.now+1000)
		if at := p.reads.next; at > 0 { // by the clock of the day
			next = min(next, p.clock.now+at-p.clock.at.UnixMilli())
		}
	}
	return time.Duration(max(0, next-p.clock.now)) * time.Millisecond
}

// WrongClock ends the tenure: with such a clock nothing is decided.
func (p *Processor) WrongClock(e *ClockError) {
	p.clock.wrong = true // no input is taken any more (J2)
	p.Fail(e)
}

// GiveBack appends the release of the lease: from then on nothing is released.
func (p *Processor) GiveBack(by events.By) {
	released := p.lease.ForceRelease(by)
	p.record(released, nil)
	p.lease = p.lease.Apply(released, p.epoch)
}

// Lease is the lease as the journal and the renewals say.
func (p *Processor) Lease() runtime.Lease { return p.lease }

// LeaseLeft is how long the lease lasts yet.
func (p *Processor) LeaseLeft() time.Duration {
	return time.Duration(p.lease.LeasedUntil-p.clock.now) * time.Millisecond
}
