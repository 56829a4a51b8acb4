package pool

import (
	"cmp"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/rows"
)

// reported takes what an executor says of a runner, or of itself. Its words come in order, without gaps, but some may come twice. A session of which some are
// missing, or that was given commands the pool does not know of, has lived through a loss that an operator has accepted: it is over, and its runner
// comes back to another one.
func (t *turn) reported(m *events.RunnerReport) {
	if m.Executor == "" {
		return
	}
	if m.Hello != nil {
		t.hello(m)
		return
	}
	if m.Runner == "" {
		t.heard(m.Executor)
		return
	}
	n, s := m.Session, t.session(m.Session)
	if s == nil || s.Runner != m.Runner {
		if m.Closed == "" { // as behind a loss: other sockets of the executor may be of sessions that are not known, too, and say nothing
			t.emit(&events.ExecutorDisowned{Executor: m.Executor})
		}
		return
	}
	if s.State == stopped {
		return // what became of its tasks their workflows have learned without the pool
	}
	forgotten := len(m.Events) > 0 && m.Events[0].Index > s.Events || m.Received > s.Commands
	t.progress(n, s, m)
	if forgotten && t.session(n).State != stopped {
		t.stop(n, "it has said or was told what the pool does not know of any more", frames.CloseGoingAway.Reason)
	}
	t.done(n)
	if s = t.session(n); s.State == stopped || s.To != m.Connection {
		return // the rest is about a socket that it has no more
	}
	switch {
	case m.Silent && s.Passed == "":
		t.emit(&events.RunnerPassedOver{Session: n, Reason: unheard})
	case m.Heard && s.Passed != "":
		t.emit(&events.RunnerPassedOver{Session: n})
	}
	if m.Stopping && s.alive() {
		t.drain(n, "it is stopping", events.By{}, false)
	}
	if m.Closed != "" {
		t.gone(n, m.Closed, events.Connection{})
	}
}

// heard notes that an executor is there, if that has not been noted just now. One whose sockets were taken for gone, as
// when nobody read its words for long, closes them.
func (t *turn) heard(id string) {
	n := t.numberOf(byExecutor, id)
	x := rows.Get[executor](t.tx, executorKey(t.id, n))
	until := t.now + t.settings.Silence.Milliseconds()
	switch {
	case x == nil:
		t.emit(&events.ExecutorDisowned{Executor: id})
	case until-x.Until >= t.settings.Silence.Milliseconds()/5:
		t.emit(&events.ExecutorHeard{Number: n, Executor: id, Until: until})
	}
}

// hello gives a new socket its session: the one of its key, where that is not over, and else a new one.
func (t *turn) hello(m *events.RunnerReport) {
	h := m.Hello
	if h.Slots < 1 || h.Slots > frames.MaxSlots {
		return // no executor passes that on
	}
	n := t.numberOf(byKey, h.Key)
	s := t.session(n)
	if s != nil && s.To == m.Connection {
		return // it came twice
	}
	if s != nil && s.alive() && h.Instance != "" && s.Instance != "" && h.Instance != s.Instance && !t.flaws.BegunAgain.on() {
		t.stop(n, "another process took its place", frames.CloseEviction.Reason)
		s = nil
	}
	if s != nil && s.alive() && h.Received > s.Commands {
		t.stop(n, "it has had commands that the pool does not know of any more", frames.CloseEviction.Reason)
		s = nil
	}
	if s == nil || !s.alive() {
		if home := events.ShardFor(t.pool, t.options.Shards, h.Key); home != t.name && !h.Sent {
			t.emit(&events.RunnerRedirected{To: m.Connection, Key: h.Key, Shard: events.PoolOf(home)})
			return
		}
		if t.head != nil && t.head.Alive >= MaxSessions {
			return // who connects hears nothing, and tries again
		}
		n = 1
		if t.head != nil {
			n = t.head.Sessions + 1
		}
		t.emit(&events.RunnerJoined{
			Session: n, Runner: t.name + "." + t.at.String(), Key: h.Key, Name: h.Name, Version: h.Version,
			Slots: h.Slots, Instance: h.Instance,
		})
		s = t.session(n)
	}
	x := t.numberOf(byExecutor, m.Executor)
	if x == 0 {
		x = t.head.Executors + 1
	}
	t.emit(&events.ExecutorHeard{Number: x, Executor: m.Executor, Until: t.now + t.settings.Silence.Milliseconds()})
	t.emit(&events.RunnerConnected{
		Session: n, To: m.Connection, Evicts: s.To, Received: min(h.Received, s.Commands), Names: h.Names, Metadata: h.Metadata, Address: h.Address,
		Threshold: t.settings.Threshold.Milliseconds(),
	})
}

// progress takes the events of a runner that have not counted yet, and its acknowledgements.
func (t *turn) progress(n uint64, s *session, m *events.RunnerReport) {
	counted, received := s.Events, max(s.Received, min(m.Received, s.Commands))
	for i := range m.Events {
		e := &m.Events[i]
		if e.Index >= counted || t.flaws.AppliedTwice.on() {
			counted = e.Index + 1
			t.event(n, e)
		}
	}
	if counted == s.Events && received == s.Received {
		return
	}
	t.emit(&events.RunnerProgressed{Session: n, Events: counted, Received: received})
	if s := t.session(n); s.Passed == unconfirmed {
		t.emit(&events.RunnerPassedOver{Session: n})
	}
}

// event takes what a runner says of a task. One that it does not have any more is nothing: it was lost meanwhile.
func (t *turn) event(session uint64, e *events.RunnerEvent) {
	n := t.numberOf(byToken, string(e.Token))
	w := t.work(n)
	if w == nil || w.Session != session {
		return
	}
	switch e.State {
	case events.TaskRunning:
		if !w.Begun {
			t.emit(&events.WorkBegun{Number: n})
		}
	case events.TaskStopped:
		t.emit(&events.WorkOver{Number: n, Token: w.Token})
	case events.TaskUnfinished:
		t.lose(n, w, told(w), cmp.Or(stopReasons[w.Stop], "its runner stopped it"))
	case events.TaskLeaving:
		if w.Stop == "" {
			t.stopWork(n, w, events.StopRequested, t.now+t.settings.Confirm.Milliseconds())
		}
	case events.TaskOther:
	}
}

// told is what the workflow of an attempt is told whose runner has it no more.
func told(w *work) events.PoolVerb {
	if w.Begun {
		return events.PoolLost
	}
	return events.PoolReturn
}

// stopReasons say why a task was stopped that was told to.
var stopReasons = map[string]string{
	events.StopRequested: "it has ended as it asked for, and told no outcome",
	events.StopGoingAway: "its runner is going away", events.StopLost: "its runner did not confirm it in time",
}

// drain gives a session no more work, and has it stop what it has. What a runner that is stopping by itself has not
// begun, it does not begin any more: it goes to another one at once.
func (t *turn) drain(n uint64, why string, by events.By, upgraded bool) {
	own := by == events.By{} && !upgraded
	t.emit(&events.RunnerDraining{
		Session: n, Reason: why, By: by, Upgraded: upgraded,
		Expires: t.now + t.settings.Drain.Milliseconds() + t.settings.Threshold.Milliseconds(),
	})
	for _, held := range t.held(n) {
		w := t.work(held)
		if w == nil || w.Stop != "" { // its session may be over meanwhile, as one that heeds nothing
			continue
		}
		t.stopWork(held, w, events.StopGoingAway, 0)
		if own && !w.Begun && t.work(held) != nil {
			t.lose(held, w, events.PoolReturn, "its runner is going away")
		}
	}
	t.done(n)
}

// done ends a draining session that has no work any more: at once where nobody waits for its socket to close.
func (t *turn) done(n uint64) {
	s := t.session(n)
	if s.State == draining && s.Used == 0 && (s.Evict || s.To.Executor == "") {
		t.stop(n, s.Reason, frames.CloseEviction.Reason)
	}
}

// gone notes that a session has no socket any more, or that one is taken for gone, which is closed should it be there.
func (t *turn) gone(n uint64, why string, closes events.Connection) {
	s := t.session(n)
	expires := t.now + t.settings.Threshold.Milliseconds()
	if s.State == draining {
		expires = min(expires, s.Expires)
	}
	t.emit(&events.RunnerDisconnected{Session: n, Reason: why, Expires: expires, Closes: closes})
	t.done(n)
}

// recheck has a runner connect again of which nothing was heard for long. Who is there comes back at once, to the same session; of who is not
// the word that its socket is gone may be lost.
func (t *turn) recheck(n uint64) {
	if s := t.session(n); s.State == connected && t.now-s.Seen >= t.settings.Recheck.Milliseconds() {
		t.gone(n, "nothing was heard of it for long", s.To)
	}
}

// silenced are sessions that get no work as they were silent: the word that they are heard again may be lost.
func (t *turn) silenced() (all []uint64) {
	if t.head.Runners.Passed == 0 {
		return nil
	}
	rows.Scan(t.tx, sessionKey(t.id, 0), func(k rows.Key, s *session) bool {
		if s.State == connected && s.Passed == unheard {
			all = append(all, k.A)
		}
		return len(all) < mostEach
	})
	return all
}

// stop ends a session: what it has of work is lost.
func (t *turn) stop(n uint64, why, closes string) {
	s := t.session(n)
	held := t.held(n)
	t.emit(&events.RunnerStopped{Session: n, Reason: why, Closes: s.To, Close: closes})
	if t.flaws.Forgotten.on() {
		held = held[:min(1, len(held))]
	}
	for _, of := range held {
		t.lose(of, t.work(of), events.PoolLost, "its runner is gone: "+why) // it may have begun without a word of it
	}
}

// held are the numbers of the attempts that have slots of a session.
func (t *turn) held(n uint64) (all []uint64) {
	rows.Scan(t.tx, heldKey(t.id, n, 0), func(k rows.Key, _ *nothing) bool {
		if k.A == n {
			all = append(all, k.B)
		}
		return k.A == n
	})
	return all
}

// upgrade drains sessions of older versions, where the pool is told so and a newer one is there.
func (t *turn) upgrade() {
	if !t.options.Upgrade || t.head == nil {
		return
	}
	newest, older := int64(-1), []uint64{}
	from := rows.Key{Table: rows.Latest, Workflow: t.id}
	rows.Scan(t.tx, from, func(k rows.Key, _ *nothing) bool { newest = int64(k.A >> 32); return false })
	if newest < 0 || newest == 1<<32-1 { // none is connected, or all are of version 0, which nothing is older than
		return
	}
	from.A = uint64(newest+1) << 32
	rows.Scan(t.tx, from, func(k rows.Key, _ *nothing) bool { older = append(older, k.C); return len(older) < mostEach })
	for _, n := range older {
		t.drain(n, "a runner of a newer version has come", events.By{}, true)
	}
}
