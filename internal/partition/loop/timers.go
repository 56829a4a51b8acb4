package loop

import (
	"fmt"
	"math"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// timers says when to look at the timer rows next; the rows are the truth.
type timers struct {
	*Processor

	next   int64                 // Unix ms; no row is due earlier, but those that wait
	idle   map[rows.Key]struct{} // due, and the machine makes nothing of them
	guards bool                  // some are due and wait for the inputs to be read (J5)
}

// note lowers the next look to the timers that a record has armed.
func (ts *timers) note(writes []rows.Write) {
	for i := range writes {
		if w := &writes[i]; w.Key.Table == rows.Timer && w.Row != nil {
			ts.next = min(ts.next, int64(w.Key.A))
		}
	}
}

// fireTimers decides what is due.
func (ts *timers) fireTimers() bool {
	if ts.next > ts.clock.now {
		return false
	}
	due, more := ts.dueTimers()
	if ts.fault != nil {
		return false
	}
	ts.next = more // before firing: what fires may arm an earlier one
	did := false
	for _, k := range due {
		did = ts.fire(k) || did
	}
	return did
}

// dueTimers are the keys that may fire now, and when to look again.
func (ts *timers) dueTimers() (due []rows.Key, next int64) {
	defer func() {
		if v := recover(); v != nil && ts.contain(v) != "" {
			panic(v)
		}
	}()
	ts.guards = false
	next = math.MaxInt64
	rows.Scan(ts.tx, rows.Key{Table: rows.Timer}, func(k rows.Key, _ *machine.Timer) bool {
		if int64(k.A) > ts.clock.now || len(due) == timerBatch {
			next = int64(k.A)
			return false
		}
		if _, idle := ts.idle[k]; idle {
			return true
		}
		if machine.Guarded(k.C) && !ts.reads.readPast(int64(k.A)) && !ts.Flaws.HastyTimers.On() {
			ts.guards = true
			return true
		}
		due = append(due, k)
		return true
	})
	if ts.guards {
		ts.reads.wantEnds()
	}
	return due, next
}

// fire decides one due timer.
func (ts *timers) fire(k rows.Key) bool {
	ts.Stats.Timers.Add(1)
	did := ts.decide(&decision{
		ref: events.InputRef{Source: events.FromTimer},
		in:  machine.Input{Workflow: k.Workflow, Source: events.FromTimer, Timer: &k},
	})
	switch {
	case ts.fault != nil:
	case !did:
		ts.idle[k] = struct{}{}
	case ts.stays(k):
		ts.next = min(ts.next, int64(k.A))
	}
	return did
}

// stays reports whether a timer that has fired is there still: its record has left it as it was, so nobody
// else has it looked at again.
func (ts *timers) stays(k rows.Key) (there bool) {
	if defect := ts.contained(func() { there = rows.Get[machine.Timer](ts.tx, k) != nil }); defect != "" {
		ts.Fail(fmt.Errorf("looking up a timer: %s", defect))
	}
	return there
}

// LookAtTimers has the timers looked at in the first step.
func (p *Processor) LookAtTimers() {
	p.timers.next = p.clock.now
	if p.Flaws.NoTimers.On() {
		rows.Scan(p.tx, rows.Key{Table: rows.Timer}, func(k rows.Key, _ *machine.Timer) bool {
			p.timers.idle[k] = struct{}{}
			return true
		})
	}
}
