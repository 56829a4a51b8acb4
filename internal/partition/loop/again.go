package loop

import "github.com/heddle-run/heddle/shared/events"

// again are attempts whose task records are to be published again, should they
// still be open once the inbox is read to an end seen after it was found out:
// what a worker has passed, or was given before a takeover, it may have reported.
type again struct {
	keys     []attemptKey
	notified bool  // also those that somebody had: outcomes may have been lost
	round    int   // of the question about the ends that will tell
	end      int64 // of the inbox; -1: not told yet
}

// publishAgain lets attempts be published again once the inbox is read.
func (p *Processor) publishAgain(keys []attemptKey, notified bool) {
	if len(keys) == 0 {
		return
	}
	a := &again{keys, notified, p.wantEnds(), -1}
	for _, k := range keys {
		p.watch.open[k].again = a
	}
	p.watch.again = append(p.watch.again, a)
	if p.Flaws.EarlyTasks.On() {
		a.end = 0
		p.againOpen()
	}
}

// endSeen takes an end of the inbox that a round of questions has told. A log that
// was made anew may end before what was told earlier: the lowest counts.
func (w *watch) endSeen(round int, end int64) {
	for _, a := range w.again {
		if a.round <= round && (a.end < 0 || end < a.end) {
			a.end = end
		}
	}
}

// stillAgain asks for the ends again while attempts wait to be published: the log
// whose end they wait for may be gone.
func (p *Processor) stillAgain() {
	if len(p.watch.again) > 0 {
		p.wantEnds()
	}
}

// againOpen publishes what is still open of those for whom the inbox is read. Another
// attempt of the same runnable may be open by now: it waits for an end of its own.
func (p *Processor) againOpen() {
	w := &p.watch
	for len(w.again) > 0 && w.again[0].end >= 0 && p.inputs[events.FromInbox].Next >= w.again[0].end {
		a := w.again[0]
		if w.again = w.again[1:]; len(w.again) == 0 {
			w.again = nil
		}
		p.giveAgain(a)
	}
}

// giveAgain publishes what is still open of some attempts. Those for which there is no
// room wait for an end that is seen at the next sweep: by then they may be reported.
func (p *Processor) giveAgain(a *again) {
	left := &again{notified: a.notified, round: p.reads.round + 1, end: -1}
	for _, k := range a.keys {
		at := p.watch.open[k]
		if at == nil || at.again != a {
			continue
		}
		at.again = nil
		switch {
		case p.fault != nil, at.row.Detached, at.row.Notified && !a.notified:
		case p.roomAgain():
			p.republish(k, at)
		default:
			at.again = left
			left.keys = append(left.keys, k)
		}
	}
	if len(left.keys) > 0 {
		p.watch.again = append(p.watch.again, left)
	}
}

// lookedUp lets be published again, with the same token, what is gone from its
// queue's log or was passed by its workers (E3).
func (p *Processor) lookedUp(q *QueueOffsets) {
	asked := p.watch.asked[q.Queue]
	delete(p.watch.asked, q.Queue)
	if q.Err != nil {
		if !p.watch.unknown[q.Queue] {
			p.Logger.Warn("where a queue's workers are is not known; it is asked again", "queue", q.Queue, "error", q.Err)
		}
		p.watch.unknown[q.Queue] = true
		return // asked again after the same while
	}
	delete(p.watch.unknown, q.Queue)
	var missing []attemptKey
	for _, k := range asked {
		at := p.watch.open[k.attemptKey]
		if at == nil || at.row.Decided != k.decided || at.offset != k.offset || at.again != nil || at.row.Notified {
			continue // the answer says nothing of what is there by now
		}
		if gone(at, q.Partitions) {
			missing = append(missing, k.attemptKey)
		}
	}
	p.publishAgain(missing, false)
}

func gone(at *watched, partitions []QueuePartition) bool {
	if int(at.partition) >= len(partitions) {
		return true
	}
	q := partitions[at.partition]
	return !q.Unknown && (at.offset < q.Start || at.offset >= q.End || at.offset < q.Committed)
}

// republish makes the task record of an open attempt again (E1). If that meets
// a defect, an attempt that nobody has is lost.
func (p *Processor) republish(k attemptKey, at *watched) {
	o, defect := p.remake(k, at)
	if defect != "" && !at.row.Notified {
		p.giveUp(k, at.row.Decided, "its task record cannot be made again: "+defect)
	}
	if p.fault != nil || o == nil {
		return
	}
	at.offset = -1
	p.Stats.Republished.Add(1)
	p.afterNewest(o)
}

// remake is the task record of an open attempt; nil if the state has it closed,
// whose record is on its way, or a defect was met.
func (p *Processor) remake(k attemptKey, at *watched) (o *Outgoing, defect string) {
	defect = p.contained(func() {
		e, made := p.Machine.Task(p.tx, k.workflow, &at.row, k.runnable)
		if !made {
			return
		}
		o = fromEffect(&e, at.row.Decided, 0)
		o.Key, o.Runnable = k.workflow, k.runnable
	})
	p.tx.Reset()
	return o, defect
}
