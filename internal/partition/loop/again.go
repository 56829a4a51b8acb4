package loop

import "github.com/heddle-run/heddle/shared/events"

// again are attempts whose task records are to be published again, should they
// still be open once the inbox is read to an end seen after it was found out:
// what a worker has passed, or was given before a takeover, it may have reported.
type again struct {
	keys     []attemptKey
	notified bool  // also those that somebody had: outcomes may have been lost
	out      bool  // their records are out, or on their way: they may have to go elsewhere
	round    int   // of the question about the ends that will tell
	end      int64 // of the inbox; -1: not told yet
}

// publishAgain lets attempts be published again once the inbox is read.
func (w *watch) publishAgain(keys []attemptKey, notified bool) {
	w.onceRead(&again{keys: keys, notified: notified})
}

// onceRead lets something be done with attempts once the inbox is read.
func (w *watch) onceRead(a *again) {
	keys := a.keys
	if len(keys) == 0 {
		return
	}
	a.round, a.end = w.reads.wantEnds(), -1
	for _, k := range keys {
		w.open[k].again = a
	}
	w.again = append(w.again, a)
	if w.Flaws.EarlyTasks.On() {
		a.end = 0
		w.againOpen()
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
func (w *watch) stillAgain() {
	if len(w.again) > 0 {
		w.reads.wantEnds()
	}
}

// againOpen publishes what is still open of those for whom the inbox is read. Another
// attempt of the same runnable may be open by now: it waits for an end of its own.
func (w *watch) againOpen() {
	for len(w.again) > 0 && w.again[0].end >= 0 && w.inputs[events.FromInbox].Next >= w.again[0].end {
		a := w.again[0]
		if w.again = w.again[1:]; len(w.again) == 0 {
			w.again = nil
		}
		w.giveAgain(a)
	}
}

// giveAgain publishes what is still open of some attempts. Those for which there is no
// room wait for an end that is seen at the next sweep: by then they may be reported.
func (w *watch) giveAgain(a *again) {
	left := &again{notified: a.notified, round: w.reads.round + 1, end: -1}
	for _, k := range a.keys {
		at := w.open[k]
		if at == nil || at.again != a {
			continue
		}
		at.again = nil
		switch {
		case w.strayed(at):
			at.placed = true
			w.moved(k, at, a)
		case w.fault != nil, at.row.Detached, at.row.Notified && !a.notified:
		case w.parked.roomAgain():
			w.republish(k, at)
		default:
			at.again = left
			left.keys = append(left.keys, k)
		}
	}
	if len(left.keys) > 0 {
		w.again = append(w.again, left)
	}
}

// lookedUp lets be published again, with the same token, what is gone from its
// queue's log or was passed by its workers (E3).
func (w *watch) lookedUp(q *QueueOffsets) {
	asked := w.asked[q.Queue]
	delete(w.asked, q.Queue)
	if q.Err != nil {
		if !w.unknown[q.Queue] {
			w.Logger.Warn("where a queue's workers are is not known; it is asked again", "queue", q.Queue, "error", q.Err)
		}
		w.unknown[q.Queue] = true
		return // asked again after the same while
	}
	delete(w.unknown, q.Queue)
	var missing []attemptKey
	for _, k := range asked {
		at := w.open[k.attemptKey]
		if at == nil || at.row.Decided != k.decided || at.offset != k.offset || at.again != nil || at.row.Notified {
			continue // the answer says nothing of what is there by now
		}
		if gone(at, q.Partitions) {
			missing = append(missing, k.attemptKey)
		}
	}
	w.publishAgain(missing, false)
}

func gone(at *watched, partitions []QueuePartition) bool {
	if int(at.partition) >= len(partitions) {
		return true
	}
	q := partitions[at.partition]
	return !q.Unknown && (at.offset < q.Start || at.offset >= q.End || at.offset < q.Committed)
}

// republish makes the task record of an open attempt again. If that meets
// a defect, an attempt that nobody has is lost.
func (w *watch) republish(k attemptKey, at *watched) {
	o, defect := w.remake(k, at)
	if defect != "" && !at.row.Notified {
		w.giveUp(k, at.row.Decided, "its task record cannot be made again: "+defect)
	}
	if w.fault != nil || o == nil {
		return
	}
	at.offset = -1
	w.Stats.Republished.Add(1)
	w.ledger.afterNewest(o)
}

// remake is the task record of an open attempt; nil if the state has it closed,
// whose record is on its way, or a defect was met.
func (w *watch) remake(k attemptKey, at *watched) (o *Outgoing, defect string) {
	defect = w.contained(func() {
		e, made := w.Machine.Task(w.tx, k.workflow, &at.row, k.runnable)
		if !made {
			return
		}
		o = fromEffect(&e, at.row.Decided, 0)
		o.Key, o.Runnable = k.workflow, k.runnable
	})
	w.tx.Reset()
	return o, defect
}
