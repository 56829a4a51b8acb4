package pool

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// told takes what a workflow says. Each of its words may come again, late, or before the one that it said before: an
// attempt is known by its token.
func (t *turn) told(m *events.EntityMessage, late bool) {
	said := events.PoolMessage{}
	if wire.Unmarshal(m.Body, &said) != nil {
		return // whoever it was, no workflow said so
	}
	if said.Verb == events.PoolAsk || said.Verb == events.PoolSpare {
		t.toldByShard(m.From, &said)
		return
	}
	if of, err := events.PeekToken(said.Token); err != nil || of.Workflow != m.From {
		return // the attempt is another one's
	}
	switch said.Verb {
	case events.PoolOffer:
		t.offered(&said, late)
	case events.PoolWithdraw:
		t.withdrawn(&said)
	case events.PoolInquire:
		t.inquired(&said)
	case events.PoolLost, events.PoolReturn, events.PoolAsk, events.PoolSpare: // not of workflows
	}
}

// offered takes an attempt into the queue. One that is so late that it may have been run, and forgotten, is declined: its workflow
// knows whether it is open.
func (t *turn) offered(m *events.PoolMessage, late bool) {
	switch {
	case t.numberOf(byToken, string(m.Token)) != 0, t.numberOf(byForestalled, string(m.Token)) != 0:
	case late:
		t.emit(&events.WorkDeclined{Token: m.Token, Reason: "it came so late that the pool may have had it before"})
	default:
		t.emit(&events.WorkOffered{Number: t.nextWork(), Rank: m.Rank, Token: m.Token, Queue: m.Queue, Task: m.Task})
	}
}

// withdrawn gives an attempt up that its workflow does not want any more.
func (t *turn) withdrawn(m *events.PoolMessage) {
	n := t.numberOf(byToken, string(m.Token))
	w := t.work(n)
	switch {
	case w == nil && t.numberOf(byForestalled, string(m.Token)) == 0:
		t.emit(&events.OfferForestalled{Number: t.nextWork(), Token: m.Token})
	case w == nil, w.Stop == events.StopCancelled:
	case w.Session == 0:
		t.emit(&events.WorkOver{Number: n, Token: w.Token, Reason: "it was withdrawn"})
	default:
		t.stopWork(n, w, events.StopCancelled, t.now+t.settings.Confirm.Milliseconds())
	}
}

// inquired answers a workflow that waits for an attempt. One that is not known is returned: its offer is lost, or what became of it is. That
// is told behind all that its runner has said. Of one that is known its pool will tell, if its runner is there.
func (t *turn) inquired(m *events.PoolMessage) {
	w := t.work(t.numberOf(byToken, string(m.Token)))
	switch {
	case w == nil:
		if t.numberOf(byForestalled, string(m.Token)) == 0 {
			t.emit(&events.OfferForestalled{Number: t.nextWork(), Token: m.Token})
		}
		t.emit(&events.WorkDeclined{Token: m.Token, Reason: "the pool does not have it"})
	case w.Session != 0:
		t.recheck(w.Session)
	default:
		for _, n := range t.silenced() {
			t.recheck(n)
		}
	}
}

// stopWork tells the runner of an attempt to stop it.
func (t *turn) stopWork(n uint64, w *work, why string, due int64) {
	t.emit(&events.WorkStopping{Number: n, Session: w.Session, Index: t.session(w.Session).Commands, Reason: why, Due: due})
	if s := t.session(w.Session); s.unheeding() {
		t.stop(w.Session, "it acknowledges no command", frames.CloseUnheeding.Reason)
	}
}

// lose gives up an attempt that a runner has, or had.
func (t *turn) lose(n uint64, w *work, tells events.PoolVerb, reason string) {
	if w.Stop == events.StopCancelled {
		tells = 0 // it is not wanted any more
	}
	t.emit(&events.WorkOver{Number: n, Token: w.Token, Tells: tells, Reason: reason})
}

func (t *turn) nextWork() uint64 {
	if t.head == nil {
		return 1
	}
	return t.head.Works + 1
}

// allocate gives slots to what waits, in order, as long as there are any. Nothing overtakes what waits.
func (t *turn) allocate() {
	for range mostEach {
		if t.head == nil || t.head.Queued == 0 {
			return
		}
		n, s := t.best()
		if s == nil {
			return
		}
		t.emit(&events.WorkGiven{Number: t.first(), Session: n, Index: s.Commands, Due: t.now + t.settings.Confirm.Milliseconds()})
	}
}

// waits reports whether there is more to give than one record gave.
func (t *turn) waits() bool {
	if t.head.Queued == 0 {
		return false
	}
	_, s := t.best()
	return s != nil
}

// first is the number of the attempt whose turn it is.
func (t *turn) first() (n uint64) {
	rows.Scan(t.tx, rows.Key{Table: rows.Ready, Workflow: t.id}, func(k rows.Key, _ *nothing) bool { n = k.B; return t.flaws.Overtaken.on() })
	return n
}

// best is the session that gets the next attempt; nil: none does. Where the newest version has no room, older ones get
// it if the pool is told so.
func (t *turn) best() (n uint64, best *session) {
	from := rows.Key{Table: rows.Latest, Workflow: t.id}
	for {
		var at rows.Key
		rows.Scan(t.tx, from, func(k rows.Key, _ *nothing) bool { at = k; return false })
		if at.C == 0 {
			return 0, nil
		}
		if s := t.session(at.C); s.free() > 0 {
			return at.C, s
		}
		if !t.options.Overflow || at.A>>32 == 1<<32-1 {
			return 0, nil
		}
		from.A = (at.A>>32 + 1) << 32
	}
}
