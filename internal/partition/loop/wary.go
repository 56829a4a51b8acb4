package loop

import (
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
)

// mostDeaths is how often an input may end the process before it is dead-lettered.
const mostDeaths = 2

// Suspects is what outlives the process of what it was deciding.
type Suspects interface {
	// Begin notes that an input is about to be decided, and says how often the
	// process has ended at it.
	Begin(input string) (deaths int, err error)
	// Rest notes that the process has outlived what it was deciding.
	Rest() error
}

// wariness is how an owner decides behind an unclean end: one input at a time, each
// noted before, as far as the last owner may have come.
type wariness struct {
	suspects Suspects        // nil: the last owner ended in order
	on       bool            // inputs that were in flight are to come
	until    [Logs]int64     // the ends of their logs
	left     [Logs]int       // how many of each log may still come that are recorded
	overdue  int64           // Unix ms: timers due up to then were in flight, too
	inHand   map[string]bool // workflows the next piece of whose work was, too
}

// Beware makes the owner wary of the inputs up to the ends of their logs, or until
// as many are recorded as may have been in flight. Of those that leave no record
// (repetitions) any number may lie between them.
func (p *Processor) Beware(suspects Suspects, ends [Logs]int64) {
	p.wary = wariness{suspects: suspects, on: true, until: ends, overdue: p.clock.now, inHand: map[string]bool{}}
	for _, workflow := range p.hand.turns {
		p.wary.inHand[workflow] = true
	}
	for _, s := range Inputs {
		p.wary.left[s] = p.Settings.InflightRecords
	}
}

// IsWary reports whether inputs that may end the process are still to come.
func (p *Processor) IsWary() bool { return p.wary.on }

// suspect notes an input that was in flight, and says why it is not decided: it has
// ended the process before.
func (p *Processor) suspect(d *decision) (defect string) {
	key := p.wary.key(d)
	if key == "" {
		return ""
	}
	deaths, err := p.wary.suspects.Begin(key)
	p.Fail(err)
	if deaths < mostDeaths {
		return ""
	}
	p.Logger.Error("an input has ended the process and is dead-lettered", "partition", p.Partition, "workflow", d.in.Workflow, "input", key, "times", deaths)
	return fmt.Sprintf("the process ended %d times while it decided this", deaths)
}

// key names an input that was in flight; "": it was not, or nobody is wary.
func (w *wariness) key(d *decision) string {
	switch s := d.ref.Source; {
	case w.suspects == nil:
	case d.in.Timer != nil && int64(d.in.Timer.A) <= w.overdue:
		return fmt.Sprintf("timer/%x", d.in.Timer.Append(nil))
	case d.in.Continue && w.inHand[d.in.Workflow]:
		delete(w.inHand, d.in.Workflow)
		return "in hand/" + d.in.Workflow
	case w.on && d.raw != nil && d.own == nil && s < Logs && d.ref.Offset < w.until[s] && w.left[s] > 0:
		return fmt.Sprintf("%s/%d/%d/%x", s, d.ref.Generation, d.ref.Offset, d.ref.Digest)
	}
	return ""
}

// recorded counts an input that leaves a record.
func (w *wariness) recorded(s events.Source) {
	if w.on && s < Logs {
		w.left[s]--
	}
}

// outlived notes at the end of a step that the process is alive, and ends the
// wariness behind what was in flight.
func (p *Processor) outlived() {
	w := &p.wary
	if w.suspects == nil {
		return
	}
	p.Fail(w.suspects.Rest())
	w.on = w.on && slices.ContainsFunc(Inputs[:], func(s events.Source) bool { return w.left[s] > 0 && p.inputs[s].Next < w.until[s] })
}
