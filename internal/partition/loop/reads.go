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
	*Processor
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
// after it was ahead once.
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
func (rd *reads) wantEnds() int {
	r := &rd.reads
	if r.asked {
		r.again = true
		return r.round + 1
	}
	r.asked = true
	r.round++
	r.at, r.ran = rd.clock.now, rd.clock.ran
	for _, s := range Inputs {
		r.read[s] = rd.inputs[s].Next
	}
	rd.Log.AskEnds()
	return r.round
}

// ends takes the answer to the question that is out.
func (rd *reads) ends(e *Ends) {
	r := &rd.reads
	r.asked = false
	switch {
	case e.Err == nil && rd.shorter(e):
		return
	case e.Err == nil:
		r.trouble = Trouble{}
		r.reached = append(r.reached, seenEnds{e.End, r.round, r.at})
		rd.watch.endSeen(r.round, e.End[events.FromInbox])
	default:
		r.trouble.begins(e.Err.Error(), rd.clock.at)
		rd.timers.next = min(rd.timers.next, rd.clock.now+rd.Settings.Sweep.Milliseconds())
		rd.Logger.Warn("asking for the ends of the inputs", "partition", rd.Partition, "error", e.Err)
	}
	if again := r.again || e.Err != nil && len(r.waiting) > 0; again {
		r.again = false
		rd.wantEnds()
	}
	rd.readOn()
}

// shorter reports whether an input log ends below where it had been read when its end
// was asked for, and fails if so. It was made anew or lost its tail, and what reads it
// has not noticed yet: an end of another log says nothing about how far this one is
// read (E6, J5). One that has grown further again shows itself when it is read on; of one
// that has just as many records nobody knows before its reader fails.
func (rd *reads) shorter(e *Ends) bool {
	if rd.Flaws.AnyEnds.On() {
		return false
	}
	for _, s := range Inputs {
		if e.End[s] < rd.read[s] {
			rd.Fail(&BrokenLogError{Source: s, Err: fmt.Errorf("it ends at offset %d and was read to %d", e.End[s], rd.read[s])})
			return true
		}
	}
	return false
}

// readOn sees which of the known ends are read up to now.
func (rd *reads) readOn() {
	rd.watch.againOpen()
	r := &rd.reads
	for len(r.reached) > 0 {
		e, full := &r.reached[0], true
		for _, s := range Inputs {
			if l := &rd.inputs[s]; l.Next >= e.end[s] {
				l.readTo = max(l.readTo, e.at)
			} else {
				full = false
			}
		}
		if rd.inputs[events.FromCommands].Next >= e.end[events.FromCommands] {
			r.serve(e.round)
		}
		if !full {
			return
		}
		r.reached = r.reached[1:]
		if rd.timers.guards {
			rd.timers.next = min(rd.timers.next, rd.clock.now)
		}
	}
}

func (rd *reads) serve(round int) {
	for i := range rd.waiting {
		if rd.waiting[i].round <= round {
			rd.waiting[i].ready = true
		}
	}
}

// readPast reports whether everything that the input logs got up to t is decided:
// they are read to a record stamped then, or to an end seen then (J5).
func (rd *reads) readPast(t int64) bool {
	for _, s := range Inputs {
		if rd.inputs[s].readTo < t {
			return false
		}
	}
	return true
}

// ask takes a query; what nobody waits for any more is dropped.
func (rd *reads) ask(q *events.Query) {
	if rd.expired(q) || len(rd.waiting) >= QueryLimit {
		rd.Stats.Expired.Add(1)
		return
	}
	rd.waiting = append(rd.waiting, waitingQuery{q: q, round: rd.wantEnds(), ready: rd.Flaws.UnreadAnswers.On()})
}

// expired reports whether nobody waits for an answer any more: by the clock of the
// day, which the caller has too. Record time may be ahead of it for ever, after a
// clock was once.
func (rd *reads) expired(q *events.Query) bool {
	return q.Deadline > 0 && q.Deadline <= rd.clock.at.UnixMilli()
}

// answerQueries answers what has read far enough; the answers leave after the
// last record that was appended before them (E6).
func (rd *reads) answerQueries() {
	if rd.fault != nil || len(rd.waiting) == 0 {
		return
	}
	rd.look()
	why := rd.hindrance()
	rd.next = 0
	kept := rd.waiting[:0]
	for _, w := range rd.waiting {
		switch {
		case rd.expired(w.q):
			rd.Stats.Expired.Add(1)
		case w.ready && rd.Leased() && rd.hung() == 0:
			rd.answerQuery(w.q)
		case why != "" && rd.Leased() && rd.nearlyOver(w.q):
			rd.unavailable(w.q, why)
		default:
			rd.wakeFor(w.q, rd.clock.at.UnixMilli())
			kept = append(kept, w)
		}
	}
	clear(rd.waiting[len(kept):])
	rd.waiting = kept
}

// wakeFor sees to it that a query is looked at before its time is over.
func (rd *reads) wakeFor(q *events.Query, now int64) {
	if at := q.Deadline - unreadBefore; at > now && (rd.next == 0 || at < rd.next) {
		rd.next = at
	}
}

func (rd *reads) answerQuery(q *events.Query) {
	r, defect := rd.query(q)
	if rd.fault != nil {
		return
	}
	if defect != "" {
		r = events.Reply{Refusal: &events.Refusal{Code: "internal_error", Message: "the query met a defect: " + defect}}
	}
	rd.tx.Reset()
	rd.reply(q, r)
}

// reply gives a query its answer.
func (rd *reads) reply(q *events.Query, r events.Reply) {
	if q.ReplyTo.Address == "" {
		rd.Stats.Queries.Add(1)
		return
	}
	o := rd.replyTo(q, r)
	if rd.Flaws.EarlyAnswers.On() {
		rd.outside.release(o)
		return
	}
	rd.ledger.afterNewest(o)
}

// replyTo makes the effect of an answer.
func (rd *reads) replyTo(q *events.Query, r events.Reply) *Outgoing {
	rd.Stats.Queries.Add(1)
	r.ID, r.Kind, r.Workflow = q.ReplyTo.ID, events.ReplyAnswer, q.Workflow
	return &Outgoing{Kind: machine.ReplyEffect, Key: q.ReplyTo.Address, Value: encodeReply(r)}
}

func (rd *reads) query(q *events.Query) (r events.Reply, defect string) {
	defect = rd.contained(func() {
		if q.Kind == events.DispatchesQuery {
			r = rd.ended.answer(q)
			return
		}
		r = rd.Machine.Query(rd.tx, rd.clock.now, q)
	})
	return r, defect
}
