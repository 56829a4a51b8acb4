package pool

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// What a runner is sent at once fits a record, however large its tasks are.
func TestLargeTasksAreSentInParts(t *testing.T) {
	w := newWorld(t, Options{})
	for n := range 10 {
		w.hear(n, events.PoolMessage{Verb: events.PoolOffer, Task: bytes.Repeat([]byte("x"), mostSent/4)}, false)
	}
	w.hear(10, events.PoolMessage{Verb: events.PoolOffer, Task: bytes.Repeat([]byte("x"), 3*mostSent)}, false)
	r := w.connect("a", 1, 20)
	want(t, "started", len(r.started()), 11)
	want(t, "records", len(w.sent), 5)
	for i, m := range w.sent {
		want(t, "welcomed by it", m.Welcome != nil, i == 0)
	}
}

// Nothing is older than version 0.
func TestAVersionOfZeroIsNotDrained(t *testing.T) {
	w := newWorld(t, Options{Upgrade: true})
	a, b := w.connect("a", 0, 1), w.connect("b", 0, 1)
	want(t, "a is", w.of(a).State, "connected")
	want(t, "b is", w.of(b).State, "connected")
}

// A socket that is taken for gone is closed, whatever its executor says of others meanwhile.
func TestASocketThatIsTakenForGoneIsClosed(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 1)
	from := len(w.sent)
	w.until(w.now + w.m.settings.Silence.Milliseconds())
	want(t, "sent", w.sent[from:], []events.RunnerCommands{{To: r.conn, Pool: id, Runner: r.id, Close: frames.CloseGoingAway.Reason}})
}

// A runner that has had more commands than the pool knows of, as where the end of its journal is lost, begins anew.
func TestARunnerThatKnowsMoreThanItsPoolBeginsAnew(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 1)
	first := r.id
	r.received = 7
	if r.again("x"); r.id == first {
		t.Error("it goes on with a session that does not know its commands")
	}
}

// A runner that confirms and acknowledges nothing costs a bounded number of rows.
func TestARunnerThatAcknowledgesNothingIsStopped(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 1)
	for n := range 2 * maxUnheeded {
		w.offer(n)
		r.says(events.TaskRunning, n)
		w.withdraw(n)
		r.says(events.TaskUnfinished, n)
		if w.of(r).State == "stopped" {
			want(t, "closed", w.closed(), []string{frames.CloseUnheeding.Reason})
			want(t, "told", w.told(), nil)
			return
		}
	}
	t.Error("it is not stopped")
}

// A timer that a defect has dropped is there again behind the next record.
func TestADroppedTimerIsArmedAgain(t *testing.T) {
	w := newWorld(t, Options{})
	w.connect("a", 1, 1)
	k := timerKey(id, w.turn().head.Due)
	w.state.Commit([]rows.Write{{Key: k}})
	w.offer(1)
	if due := w.turn().head.Due; w.state.Get(timerKey(id, due), nil) == nil {
		t.Error("there is no timer")
	}
}

// One firing gives up so much, and the next one goes on.
func TestManySessionsEndInTurns(t *testing.T) {
	const slots = mostHeld/2 + 1
	w := newWorld(t, Options{})
	for i, key := range []string{"a", "b", "c"} {
		r := w.connect(key, 1, slots)
		for n := range slots {
			w.offer(i*slots + n)
		}
		r.report(events.RunnerReport{Closed: "the socket broke"})
	}
	most := 0
	for w.fire() {
		most = max(most, len(w.all[len(w.all)-1].Events))
	}
	want(t, "told", len(w.told()), 3*slots)
	if most > 2*slots+10 {
		t.Errorf("a record has %d events", most)
	}
}

// What no executor passes on makes no session.
func TestARunnerHasSlotsAndNotTooMany(t *testing.T) {
	for slots, taken := range map[uint32]bool{0: false, 1: true, frames.MaxSlots: true, frames.MaxSlots + 1: false} {
		w := newWorld(t, Options{})
		list := w.decide(machine.Input{Inbox: &events.RunnerReport{Connection: events.Connection{Executor: "x", Number: 1}, Hello: &events.RunnerHello{Key: "a", Slots: slots}}})
		want(t, fmt.Sprint("a session of ", slots, " slots"), len(list) > 0, taken)
	}
}

// forgets has the pool be as of the first n of its records, as behind a loss of its journal that an operator has accepted.
func (w *world) forgets(n int) {
	w.t.Helper()
	w.state = rows.Memory{}
	w.all = w.all[:n]
	for _, rec := range w.all {
		tx := rows.Begin(&w.state)
		w.m.Apply(tx, rec, true)
		w.state.Commit(tx.Writes())
	}
}

// A runner whose pool has lost the end of its journal gets another session as soon as it says something that shows it: on its
// socket, or when it comes back and has acknowledged events no more. Its attempts are lost once.
func TestASessionThatThePoolHasForgottenAPartOfIsOver(t *testing.T) {
	for what, shows := range map[string]func(r *runner){
		"events go on behind a gap":       func(r *runner) { r.says(events.TaskStopped, 2) },
		"commands are acknowledged":       func(r *runner) { r.report(events.RunnerReport{Received: 3}) },
		"it comes back with later events": func(r *runner) { r.received = 2; r.again("y"); r.events = 3; r.says(events.TaskStopped, 2) },
	} {
		w := newWorld(t, Options{})
		r := w.connect("a", 1, 4)
		w.offer(1, 2)
		kept := len(w.all)
		r.says(events.TaskRunning, 1)
		r.says(events.TaskRunning, 2)
		w.offer(3)
		r.says(events.TaskRunning, 3)
		w.forgets(kept)
		from := len(w.sent)
		before := r.id
		shows(r)
		want(t, what+": its state", w.of(r).State, "stopped")
		closes := slices.IndexFunc(w.sent[from:], func(m events.RunnerCommands) bool { return m.To == r.conn && m.Close == frames.CloseGoingAway.Reason })
		if closes < 0 {
			t.Errorf("%s: its socket is not closed so that it comes back", what)
		}
		if r.again("z"); r.id == before {
			t.Errorf("%s: it comes back to the session that is over", what)
		}
	}
}

// Where a whole session is forgotten, the executor closes all of its sockets: others may be of such sessions, too, and have nothing to say.
func TestASessionThatIsNotKnownHasItsExecutorCloseItsSockets(t *testing.T) {
	w := newWorld(t, Options{})
	w.connect("a", 1, 4)
	kept := len(w.all)
	b := w.connect("b", 1, 4)
	w.forgets(kept)
	from := len(w.sent)
	b.report(events.RunnerReport{Received: 1})
	want(t, "sent", w.sent[from:], []events.RunnerCommands{{To: events.Connection{Executor: "x"}, Pool: id, Runner: id, Close: frames.CloseGoingAway.Reason}})
	if list := b.report(events.RunnerReport{Closed: frames.CloseGoingAway.Reason}); len(list) > 0 {
		t.Errorf("its end makes %+v", list)
	}
}
