package loop

import (
	"math"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// timers says when to look at the timer rows next; the rows are the truth.
type timers struct {
	next   int64                 // Unix ms; no row is due earlier, but those that wait
	idle   map[rows.Key]struct{} // due, and the machine makes nothing of them
	guards bool                  // some are due and wait for the inputs to be read (J5)
}

// note lowers the next look to the timers that a record has armed.
func (t *timers) note(writes []rows.Write) {
	for i := range writes {
		if w := &writes[i]; w.Key.Table == rows.Timer && w.Row != nil {
			t.next = min(t.next, int64(w.Key.A))
		}
	}
}

// fireTimers decides what is due.
func (p *Processor) fireTimers() bool {
	if p.timers.next > p.clock.now {
		return false
	}
	due, more := p.dueTimers()
	if p.fault != nil {
		return false
	}
	p.timers.next = more // before firing: what fires may arm an earlier one
	did := false
	for _, k := range due {
		did = p.fire(k) || did
	}
	return did
}

// dueTimers are the keys that may fire now, and when to look again.
func (p *Processor) dueTimers() (due []rows.Key, next int64) {
	defer func() {
		if v := recover(); v != nil && p.contain(v) != "" {
			panic(v)
		}
	}()
	p.timers.guards = false
	next = math.MaxInt64
	rows.Scan(p.tx, rows.Key{Table: rows.Timer}, func(k rows.Key, _ *machine.Timer) bool {
		if int64(k.A) > p.clock.now || len(due) == timerBatch {
			next = int64(k.A)
			return false
		}
		if _, idle := p.timers.idle[k]; idle {
			return true
		}
		if machine.Guarded(k.C) && !p.reads.readPast(int64(k.A)) && !p.Flaws.HastyTimers.On() {
			p.timers.guards = true
			return true
		}
		due = append(due, k)
		return true
	})
	if p.timers.guards {
		p.reads.wantEnds()
	}
	return due, next
}

// fire decides one due timer.
func (p *Processor) fire(k rows.Key) bool {
	p.Stats.Timers.Add(1)
	did := p.decide(&decision{
		ref: events.InputRef{Source: events.FromTimer},
		in:  machine.Input{Workflow: k.Workflow, Source: events.FromTimer, Timer: &k},
	})
	if !did && p.fault == nil {
		p.timers.idle[k] = struct{}{}
	}
	return did
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
