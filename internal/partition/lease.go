package partition

import "time"

// leased says whether the lease has its margin left: only then effects are
// released and queries answered (E5).
func (p *Processor) leased() bool {
	return !p.dismissed && p.clock.now < p.lease.LeasedUntil-p.Settings.Margin.Milliseconds()
}

// renewed takes a renewal whose commit is known. One that is known only after
// the old expiry does not count: the partition is acquired anew (O5).
func (p *Processor) renewed(r Renewed) {
	if !p.lease.Held() { // given up meanwhile
		return
	}
	if p.lease.Expired(p.clock.now) {
		p.fail(errExpired)
		return
	}
	next, err := p.lease.Renew(p.lease.Owner, p.lease.LeaseID, r.Until, p.epoch)
	if err != nil {
		p.fail(err)
		return
	}
	p.lease = next
	if p.leased() { // its commit may have taken long
		p.unhold()
	}
}

// checkLease ends the reign of an owner that could not renew in time, or whose
// lease an operator released (O5).
func (p *Processor) checkLease() {
	switch {
	case p.dismissed:
		p.fail(errDismissed)
	case p.lease.Expired(p.clock.now):
		p.fail(errExpired)
	}
}

// NextWake is when the processor wants a step even if nothing arrives. Without
// room to run ahead nothing that is due can be decided: what makes room arrives.
func (p *Processor) NextWake() time.Duration {
	next := p.lease.LeasedUntil
	if p.room() {
		next = min(next, p.timers.next, p.watch.next)
	}
	if p.unwritten.records > 0 {
		next = min(next, p.unwritten.since+p.Settings.WriteDelay.Milliseconds())
	}
	if len(p.reads.waiting) > 0 {
		next = min(next, p.clock.now+1000)
	}
	return time.Duration(max(0, next-p.clock.now)) * time.Millisecond
}
