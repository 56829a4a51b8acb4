package loop

import (
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

const (
	// unreadBefore is how long (ms) before its time is over a query is told what keeps
	// its owner from reading on: the answer has to get there.
	unreadBefore = 500

	// hangsAfter is how long an answer of the brokers may take before it is something
	// that hangs.
	hangsAfter = time.Second
)

// Trouble is what keeps something from going on: why, and since when.
type Trouble struct {
	Why   string // empty: nothing does
	Since time.Time
}

// begins notes why something does not go on, from the first time on.
func (t *Trouble) begins(why string, at time.Time) {
	if t.Why == "" {
		t.Since = at
	}
	t.Why = why
}

// CannotRead is told that a log cannot be read, and since when; without a reason it
// can be again.
func (p *Processor) CannotRead(s events.Source, t Trouble) { p.inputs[s].trouble = t }

// hung says for how long the journal has owed an answer, if that is long.
func (p *Processor) hung() time.Duration {
	if p.inflight.len() == 0 {
		return 0
	}
	if waits := p.clock.ran - p.inflight.all[0].ran; waits >= hangsAfter {
		return waits
	}
	return 0
}

// hindrance is what keeps the owner from reading commands on, or what it has read
// from being told: which log, why and since when. Empty: nothing that is known.
func (p *Processor) hindrance() string {
	of := func(topic, what string, t Trouble) string {
		since := t.Since.UTC().Format(time.RFC3339)
		return fmt.Sprintf("%s, partition %d, %s since %s: %s", topic, p.Partition, what, since, Shortened(t.Why))
	}
	commands := p.Names.Commands()
	if t := p.inputs[events.FromCommands].trouble; t.Why != "" {
		return of(commands, "cannot be read", t)
	}
	if t := p.reads.trouble; t.Why != "" {
		return of(commands, "does not tell where it ends", t)
	}
	if waits := p.hung(); waits > 0 {
		return of(p.Names.Journal(), "has not taken what was decided", Trouble{"its leader does not answer", p.clock.at.Add(-waits)})
	}
	if waits := p.clock.ran - p.reads.ran; p.reads.asked && waits >= hangsAfter {
		return of(commands, "has not told where it ends", Trouble{"its leader does not answer", p.clock.at.Add(-waits)})
	}
	return ""
}

// nearlyOver says of a query that there is just time to tell the client why there is no
// answer.
func (p *Processor) nearlyOver(q *events.Query) bool {
	return q.Deadline > 0 && q.Deadline-p.clock.at.UnixMilli() <= unreadBefore
}

// unavailable tells the client why there is no answer. It says nothing of what was
// decided, and waits for no record.
func (p *Processor) unavailable(q *events.Query, why string) {
	if q.ReplyTo.Address == "" {
		return
	}
	p.outside.release(p.reads.replyTo(q, events.Reply{Refusal: &events.Refusal{Code: "unavailable", Message: "the owner of the workflow cannot read on: " + why + "; ask again"}}))
}
