package loop

import (
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// reads knows how far the input logs have been read as of a moment: for queries
// (E6) and for what must not overtake an outcome (J5). One question about the
// ends is out at a time; it serves all that waited when it was asked.
type reads struct {
	asked   bool
	again   bool        // somebody has come since it was asked
	round   int         // of the question that is out, or was last
	at      int64       // when it was asked
	read    [Logs]int64 // how far the logs were read then
	reached []seenEnds  // answered, not read up to yet; oldest first
	waiting []waitingQuery
	looking bool          // what holds them up is asked for
	trouble Trouble       // why the last question has no answer
	ran     time.Duration // of the owner's monotonic clock, when it was asked
	next    int64         // Unix ms of the day, when one that waits is told why; 0: none is
}

// seenEnds are the ends that a round has told. When it was asked is in record
// time, as what waits for it is: the clock of the day may be behind it for ever,
// after it was ahead once (J2).
type seenEnds struct {
	end   [Logs]int64
	round int
	at    int64 // Unix ms
}

// waitingQuery waits until commands are read to the end that its round saw.
type waitingQuery struct {
	q      *events.Query
	round  int
	ready  bool
	looked bool // what holds it up was asked for
}

// wantEnds asks for the ends as of now, and returns the round that will tell.
func (p *Processor) wantEnds() int {
	r := &p.reads
	if r.asked {
		r.again = true
		return r.round + 1
	}
	r.asked = true
	r.round++
	r.at, r.ran = p.clock.now, p.clock.ran
	for _, s := range Inputs {
		r.read[s] = p.inputs[s].Next
	}
	p.Log.AskEnds()
	return r.round
}

// ends takes the answer to the question that is out.
func (p *Processor) ends(e *Ends) {
	r := &p.reads
	r.asked = false
	switch {
	case e.Err == nil && p.shorter(e):
		return
	case e.Err == nil:
		r.trouble = Trouble{}
		r.reached = append(r.reached, seenEnds{e.End, r.round, r.at})
		p.watch.endSeen(r.round, e.End[events.FromInbox])
	default:
		r.trouble.begins(e.Err.Error(), p.clock.at)
		p.timers.next = min(p.timers.next, p.clock.now+p.Settings.Sweep.Milliseconds())
		p.Logger.Warn("asking for the ends of the inputs", "partition", p.Partition, "error", e.Err)
	}
	if again := r.again || e.Err != nil && len(r.waiting) > 0; again {
		r.again = false
		p.wantEnds()
	}
	p.readOn()
}

// shorter reports whether an input log ends below where it had been read when its end
// was asked for, and fails if so. It was made anew or lost its tail, and what reads it
// has not noticed yet: an end of another log says nothing about how far this one is
// read (E6, J5). One that has grown further again shows itself when it is read on; of one
// that has just as many records nobody knows before its reader fails.
func (p *Processor) shorter(e *Ends) bool {
	if p.Flaws.AnyEnds.On() {
		return false
	}
	for _, s := range Inputs {
		if e.End[s] < p.reads.read[s] {
			p.Fail(&BrokenLogError{Source: s, Err: fmt.Errorf("it ends at offset %d and was read to %d", e.End[s], p.reads.read[s])})
			return true
		}
	}
	return false
}

// readOn sees which of the known ends are read up to now.
func (p *Processor) readOn() {
	p.againOpen()
	r := &p.reads
	for len(r.reached) > 0 {
		e, full := &r.reached[0], true
		for _, s := range Inputs {
			if l := &p.inputs[s]; l.Next >= e.end[s] {
				l.readTo = max(l.readTo, e.at)
			} else {
				full = false
			}
		}
		if p.inputs[events.FromCommands].Next >= e.end[events.FromCommands] {
			r.serve(e.round)
		}
		if !full {
			return
		}
		r.reached = r.reached[1:]
		if p.timers.guards {
			p.timers.next = min(p.timers.next, p.clock.now)
		}
	}
}

func (r *reads) serve(round int) {
	for i := range r.waiting {
		if r.waiting[i].round <= round {
			r.waiting[i].ready = true
		}
	}
}

// readPast reports whether everything that the input logs got up to t is decided:
// they are read to a record stamped then, or to an end seen then (J5).
func (p *Processor) readPast(t int64) bool {
	for _, s := range Inputs {
		if p.inputs[s].readTo < t {
			return false
		}
	}
	return true
}

// ask takes a query; what nobody waits for any more is dropped.
func (p *Processor) ask(q *events.Query) {
	if p.expired(q) || len(p.reads.waiting) >= QueryLimit {
		p.Stats.Expired.Add(1)
		return
	}
	p.reads.waiting = append(p.reads.waiting, waitingQuery{q: q, round: p.wantEnds(), ready: p.Flaws.UnreadAnswers.On()})
}

// expired reports whether nobody waits for an answer any more: by the clock of the
// day, which the caller has too. Record time may be ahead of it for ever, after a
// clock was once (J2).
func (p *Processor) expired(q *events.Query) bool {
	return q.Deadline > 0 && q.Deadline <= p.clock.at.UnixMilli()
}

// answerQueries answers what has read far enough; the answers leave after the
// last record that was appended before them (E6).
func (p *Processor) answerQueries() {
	if p.fault != nil || len(p.reads.waiting) == 0 {
		return
	}
	p.look()
	why := p.hindrance()
	p.reads.next = 0
	kept := p.reads.waiting[:0]
	for _, w := range p.reads.waiting {
		switch {
		case p.expired(w.q):
			p.Stats.Expired.Add(1)
		case w.ready && p.Leased() && p.hung() == 0:
			p.answerQuery(w.q)
		case why != "" && p.Leased() && p.nearlyOver(w.q):
			p.unavailable(w.q, why)
		default:
			p.reads.wakeFor(w.q, p.clock.at.UnixMilli())
			kept = append(kept, w)
		}
	}
	clear(p.reads.waiting[len(kept):])
	p.reads.waiting = kept
}

// wakeFor sees to it that a query is looked at before its time is over.
func (r *reads) wakeFor(q *events.Query, now int64) {
	if at := q.Deadline - unreadBefore; at > now && (r.next == 0 || at < r.next) {
		r.next = at
	}
}

func (p *Processor) answerQuery(q *events.Query) {
	r, defect := p.query(q)
	if p.fault != nil {
		return
	}
	if defect != "" {
		r = events.Reply{Refusal: &events.Refusal{Code: "internal_error", Message: "the query met a defect: " + defect}}
	}
	p.tx.Reset()
	p.reply(q, r)
}

// reply gives a query its answer.
func (p *Processor) reply(q *events.Query, r events.Reply) {
	if q.ReplyTo.Address == "" {
		p.Stats.Queries.Add(1)
		return
	}
	o := p.replyTo(q, r)
	if p.Flaws.EarlyAnswers.On() {
		p.release(o)
		return
	}
	p.afterNewest(o)
}

// replyTo makes the effect of an answer.
func (p *Processor) replyTo(q *events.Query, r events.Reply) *Outgoing {
	p.Stats.Queries.Add(1)
	r.ID, r.Kind, r.Workflow = q.ReplyTo.ID, events.ReplyAnswer, q.Workflow
	return &Outgoing{Kind: machine.ReplyEffect, Key: q.ReplyTo.Address, Value: encodeReply(r)}
}

func (p *Processor) query(q *events.Query) (r events.Reply, defect string) {
	defect = p.contained(func() { r = p.Machine.Query(p.tx, p.clock.now, q) })
	return r, defect
}
