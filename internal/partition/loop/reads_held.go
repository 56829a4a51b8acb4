package loop

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
)

// lookBefore is how long (ms) before its time is over it is asked what holds a query
// up. While queries wait, the loop wakes every second.
const lookBefore = 1500

// look asks what holds queries up whose time is nearly over. A question that is out
// serves those that come before its answer, too: so it does not matter whether queries
// come in one batch or in two.
func (rd *reads) look() {
	r := &rd.reads
	late := false
	for i := range r.waiting {
		if w := &r.waiting[i]; !w.looked && rd.late(w) {
			w.looked, late = true, true
		}
	}
	if late && !r.looking {
		r.looking = true
		rd.Log.AskDecided()
	}
}

// late reports whether a query waits that will not for long.
func (rd *reads) late(w *waitingQuery) bool {
	return !w.ready && w.q.Deadline > 0 && w.q.Deadline-rd.clock.at.UnixMilli() <= lookBefore
}

// DecidedTo is told how far transactions in commands are decided. What is read up
// to there, and not to the end, is held up by a transaction that another producer
// has open: a client that asks is told so in time, instead of nothing.
func (p *Processor) DecidedTo(end int64, err error) {
	r := &p.reads
	r.looking = false
	if err != nil {
		p.Logger.Warn("asking how far commands are decided", "partition", p.Partition, "error", err)
		return
	}
	if next := p.inputs[events.FromCommands].Next; next < end || !p.Leased() {
		return
	}
	kept := r.waiting[:0]
	for _, w := range r.waiting {
		if p.reads.late(&w) && !p.reads.expired(w.q) && p.reads.hidden(w.round) {
			p.reads.reply(w.q, events.Reply{Refusal: &events.Refusal{Code: "open_transaction", Message: fmt.Sprintf(
				"another producer's transaction is open in %s, partition %d, from offset %d on: what was written after it is read when it ends; ask again",
				p.Names.Commands(), p.Partition, end)}})
			continue
		}
		kept = append(kept, w)
	}
	clear(r.waiting[len(kept):])
	r.waiting = kept
}

// hidden reports whether commands are known to reach further than they are read, as of
// a round.
func (rd *reads) hidden(round int) bool {
	for i := range rd.reached {
		if e := &rd.reached[i]; e.round >= round {
			return rd.inputs[events.FromCommands].Next < e.end[events.FromCommands]
		}
	}
	return false
}
