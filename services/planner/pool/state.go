package pool

import (
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// unconfirmed is why a runner is passed over that does not say what becomes of what it was given.
const unconfirmed = "it does not confirm what it is given"

// unheard is why one is passed over that says nothing at all.
const unheard = "nothing was heard of it for a while"

func (t *turn) work(n uint64) *work       { return rows.Get[work](t.tx, workKey(t.id, n)) }
func (t *turn) session(n uint64) *session { return rows.Get[session](t.tx, sessionKey(t.id, n)) }

// numberOf is the number of what has a name; 0: nothing has it.
func (t *turn) numberOf(of, name string) uint64 {
	if row := rows.Get[numbered](t.tx, nameKey(t.id, of, name)); row != nil {
		return row.Number
	}
	return 0
}

func (t *turn) named(of, name string, n uint64) {
	t.tx.Put(nameKey(t.id, of, name), &numbered{n})
}

// h is the head for changing.
func (t *turn) h() *head {
	t.head = rows.Change[head](t.tx, headKey(t.id))
	return t.head
}

// apply changes the state by one event: one line per event. What is replayed may be about what has gone since, and
// changes nothing then.
func (t *turn) apply(e events.Event) {
	switch e := e.(type) {
	case *events.WorkOffered:
		t.queued(e)
	case *events.WorkGiven:
		t.given(e)
	case *events.WorkBegun:
		t.begun(e)
	case *events.WorkAsked:
		t.workAsked(e)
	case *events.WorkStopping:
		t.stopping(e)
	case *events.WorkOver:
		t.over(e)
	case *events.OfferForestalled:
		t.forestalled(e)
	case *events.RunnerJoined:
		t.joined(e)
	case *events.RunnerConnected:
		t.connected(e)
	case *events.RunnerDisconnected:
		t.disconnected(e)
	case *events.RunnerDraining:
		t.draining(e)
	case *events.RunnerStopped:
		t.stopped(e)
	case *events.RunnerProgressed:
		t.progressed(e)
	case *events.RunnerPassedOver:
		t.passedOver(e)
	case *events.ExecutorHeard:
		t.executorHeard(e)
	case *events.ExecutorGone:
		t.executorGone(e)
	case *events.PoolSwept:
		t.swept(e)
	case *events.PoolResized:
		t.resized(e)
	case *events.SlotsAsked:
		t.slotsAsked()
	case *events.WorkDeclined, *events.ExecutorDisowned, *events.CommandRefused, *events.RunnerRedirected, *events.SlotsSpared: // of the history only
	default:
		panic("event without a meaning for pools: " + events.Name(e))
	}
}

// there makes a pool that has no rows.
func (t *turn) there() {
	if t.head == nil {
		t.head = &head{}
		t.tx.Create(headKey(t.id), t.head)
		t.tx.Create(machine.EntityKey(t.id), &machine.Listed{})
	}
}

// due sets when something is looked after, in place of when it was; 0: it is not.
func (t *turn) due(what, n uint64, at *int64, due int64) {
	if *at == due {
		return
	}
	if *at != 0 {
		t.tx.Delete(dueKey(t.id, *at, what, n))
	}
	if *at = due; due != 0 {
		t.tx.Put(dueKey(t.id, due, what, n), &nothing{})
	}
}

func (t *turn) queued(e *events.WorkOffered) {
	t.there()
	h := t.h()
	h.Works = e.Number
	if h.Queued++; h.Queued == 1 {
		h.Asks = 0
	}
	t.tx.Put(workKey(t.id, e.Number), &work{Token: e.Token, Rank: e.Rank, Queue: e.Queue, Task: e.Task, Since: t.now})
	t.tx.Put(queueKey(t.id, e.Rank, e.Number), &nothing{})
	t.named(byToken, string(e.Token), e.Number)
}

func (t *turn) given(e *events.WorkGiven) {
	s := t.changed(e.Session)
	if s == nil || t.work(e.Number) == nil {
		return
	}
	w := rows.Change[work](t.tx, workKey(t.id, e.Number))
	h := t.h()
	h.Queued--
	h.Given++
	h.Uses++
	s.Used++
	s.LastUse = h.Uses
	t.commanded(e.Session, s, e.Index, &command{Number: e.Number, Token: w.Token})
	w.Session, w.Index, w.Given = e.Session, e.Index, t.now
	t.due(dueWork, e.Number, &w.Due, e.Due)
	t.tx.Delete(queueKey(t.id, w.Rank, e.Number))
	t.tx.Put(heldKey(t.id, e.Session, e.Number), &nothing{})
	t.settle(e.Session, s)
}

// commanded keeps a command until it is acknowledged.
func (t *turn) commanded(n uint64, s *session, index uint64, c *command) {
	s.Commands = index + 1
	t.tx.Put(commandKey(t.id, n, index), c)
}

func (t *turn) begun(e *events.WorkBegun) {
	if t.work(e.Number) == nil {
		return
	}
	w := rows.Change[work](t.tx, workKey(t.id, e.Number))
	w.Begun = true
	if w.Stop == "" {
		t.due(dueWork, e.Number, &w.Due, t.now+t.settings.Recheck.Milliseconds())
	}
}

func (t *turn) workAsked(e *events.WorkAsked) {
	if t.work(e.Number) != nil {
		w := rows.Change[work](t.tx, workKey(t.id, e.Number))
		t.due(dueWork, e.Number, &w.Due, e.Due)
	}
}

func (t *turn) stopping(e *events.WorkStopping) {
	s := t.changed(e.Session)
	if s == nil || t.work(e.Number) == nil {
		return
	}
	w := rows.Change[work](t.tx, workKey(t.id, e.Number))
	w.Stop = e.Reason
	t.due(dueWork, e.Number, &w.Due, e.Due)
	t.commanded(e.Session, s, e.Index, &command{Number: e.Number, Token: w.Token, Stop: e.Reason})
	t.settle(e.Session, s)
}

// over forgets an attempt, and frees its slot.
func (t *turn) over(e *events.WorkOver) {
	row := t.work(e.Number)
	if row == nil {
		return
	}
	w, h := *row, t.h()
	t.due(dueWork, e.Number, &w.Due, 0)
	if e.Shard != "" {
		h.Asks = 0
	}
	if w.Session == 0 {
		h.Queued--
		t.tx.Delete(queueKey(t.id, w.Rank, e.Number))
	} else {
		h.Given--
		t.tx.Delete(heldKey(t.id, w.Session, e.Number))
		t.tx.Delete(commandKey(t.id, w.Session, w.Index))
		if s := t.changed(w.Session); s != nil {
			s.Used--
			if t.flaws.FreedTwice.on() && s.Used > 0 {
				s.Used--
			}
			s.Seen = t.now
			t.settle(w.Session, s)
		}
	}
	t.tx.Delete(nameKey(t.id, byToken, string(w.Token)))
	t.tx.Delete(workKey(t.id, e.Number))
}

func (t *turn) forestalled(e *events.OfferForestalled) {
	t.there()
	h := t.h()
	h.Works = e.Number
	h.Kept++
	f := &forestalled{Token: e.Token}
	t.due(dueForestalled, e.Number, &f.Due, t.now+t.settings.Remember.Milliseconds())
	t.tx.Put(forestalledKey(t.id, e.Number), f)
	t.named(byForestalled, string(e.Token), e.Number)
}

func (t *turn) swept(e *events.PoolSwept) {
	for _, n := range e.Sessions {
		if s := t.changed(n); s != nil {
			t.due(dueSession, n, &s.Due, 0)
			t.tx.Delete(sessionKey(t.id, n))
			t.tx.Delete(profileKey(t.id, n))
			t.h().Kept--
		}
	}
	for _, n := range e.Forestalled {
		if row := rows.Get[forestalled](t.tx, forestalledKey(t.id, n)); row != nil {
			f := *row
			t.due(dueForestalled, n, &f.Due, 0)
			t.tx.Delete(nameKey(t.id, byForestalled, string(f.Token)))
			t.tx.Delete(forestalledKey(t.id, n))
			t.h().Kept--
		}
	}
	if e.Gone && t.head != nil {
		t.arm(0)
		t.tx.Delete(headKey(t.id))
		t.tx.Delete(machine.EntityKey(t.id))
		t.head = nil
	}
}

// finish closes a record, live or replayed: the timer is for what is due next.
func (t *turn) finish() {
	if t.head == nil {
		return
	}
	t.h().Applied = t.at
	due := int64(0)
	rows.Scan(t.tx, rows.Key{Table: rows.Watch, Workflow: t.id}, func(k rows.Key, _ *nothing) bool { due = int64(k.A); return false })
	if t.waits() {
		due = t.now
	} else if ask := t.asks(); ask != 0 && (due == 0 || ask < due) {
		due = ask
	}
	if due != t.head.Due || due != 0 && rows.Get[machine.Timer](t.tx, timerKey(t.id, due)) == nil { // a defect may have dropped it
		t.arm(due)
	}
}

// arm sets the one timer; 0: there is none.
func (t *turn) arm(due int64) {
	h := t.h()
	if h.Due != 0 {
		t.tx.Delete(timerKey(t.id, h.Due))
	}
	if h.Due = due; due != 0 {
		t.tx.Put(timerKey(t.id, due), &machine.Timer{})
	}
}

// rest ends a pool that has nothing to remember.
func (t *turn) rest() {
	if h := t.head; h != nil && h.Queued+h.Given+h.Alive+h.Kept == 0 {
		t.emit(&events.PoolSwept{Gone: true})
	}
}

// find is a session by its id or its key; one that is alive before one that is not.
func (t *turn) find(name string) (uint64, *session) {
	if n := t.numberOf(byKey, name); n != 0 {
		return n, t.session(n)
	}
	at := []uint64{}
	rows.Scan(t.tx, sessionKey(t.id, 0), func(k rows.Key, s *session) bool {
		if s.Runner == name {
			at = append(at, k.A)
		}
		return len(at) == 0
	})
	if len(at) == 0 {
		return 0, nil
	}
	return at[0], t.session(slices.Max(at))
}
