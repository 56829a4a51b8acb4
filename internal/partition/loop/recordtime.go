package loop

import "time"

// clockState is record time (J2): the clock's, but never before the newest record,
// from which it goes on with what the monotonic clock measures.
type clockState struct {
	now   int64         // Unix ms, of this step
	at    time.Time     // the reading that now is from
	ran   time.Duration // by the monotonic clock, since the first reading
	last  int64         // Unix ms, of the newest record
	since time.Duration // of ran, when last was made
	wrong bool          // it differs from the broker's by more than is allowed

	excused int64 // ms that stamps of inputs may be ahead: this clock is not to blame
}

// read takes a reading. Between two of them time stands still at worst: a clock
// whose monotonic part jumps back with it, as in tests, loses what was between.
func (c *clockState) read(t time.Time) {
	if !c.at.IsZero() {
		c.ran += max(0, t.Sub(c.at))
	}
	c.at, c.now = t, t.UnixMilli()
	if c.last > 0 {
		c.now = max(c.now, c.last+(c.ran-c.since).Milliseconds())
	}
}

// met is told of the time of a record, as of the last reading.
func (c *clockState) met(ms int64) { c.last, c.since = max(c.last, ms), c.ran }

// Tick reads the clock once per step.
func (p *Processor) Tick() { p.clock.read(p.Clock.Now()) }

// RecordTime is the time of the next record, or of what else must not be made
// undone by a clock that is set back.
func (p *Processor) RecordTime() int64 {
	if p.clock.now > p.clock.last {
		p.clock.met(p.clock.now)
	}
	return p.clock.last
}

// RecallTime is told of the time of the newest record in the state.
func (p *Processor) RecallTime(ms int64) {
	p.Tick()
	p.clock.met(ms)
}

// Excuse says how far, in ms, stamps of inputs may be ahead: this clock is not to blame.
func (p *Processor) Excuse(ahead int64) { p.clock.excused = ahead }
