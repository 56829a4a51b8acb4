package pool

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// Each test of this file is a case of what a pool promises, by its number.

func TestC01ARunnerIsWelcomed(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 2)
	welcome := w.sent[0].Welcome
	want(t, "welcomes", len(w.sent), 1)
	want(t, "events that counted", welcome.Events, uint64(0))
	want(t, "threshold", welcome.Threshold, w.m.settings.Threshold.Milliseconds())
	if r.id == "" {
		t.Error("it has no id")
	}
	s := w.of(r)
	want(t, "its state", s.State, "connected")
	want(t, "its free slots", s.Slots-s.Used, uint32(2))
}

func TestC09NamesAreListedBeforeATaskRan(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 2)
	r.hello.Names = []events.TaskName{{Name: "resize", Metadata: []byte(`1`)}, {Name: "crop"}}
	r.again("x")
	want(t, "names", w.of(r).Names, []string{"resize", "crop"})
	r.hello.Names = []events.TaskName{{Name: "resize", Metadata: []byte(`2`)}}
	r.again("x")
	want(t, "names, said anew", w.of(r).Names, []string{"resize"})
}

func TestC12SlotsAndVersionAreFixed(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 2)
	first := r.id
	r.hello.Slots, r.hello.Version = 8, 3
	r.again("x")
	want(t, "id", r.id, first)
	want(t, "slots", w.of(r).Slots, uint32(2))
	want(t, "version", w.of(r).Version, uint32(1))
}

func TestM01CommandsHaveNoGaps(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 8)
	w.offer(1, 2, 3, 4, 5)
	r.take(0)
	for i, c := range r.commands {
		want(t, "index", c.Index, uint64(i))
	}
	want(t, "started", r.started(), []int{1, 2, 3, 4, 5})
}

func TestM02MissedCommandsComeInOneBatch(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 8)
	w.offer(1, 2, 3, 4, 5)
	r.take(0)
	r.says(events.TaskRunning, 1, 2, 3, 4, 5)
	w.offer(6, 7, 8)
	from := len(w.sent)
	r.again("y")
	m := w.sent[from+1] // behind what closes the other socket
	want(t, "missed", len(m.Commands), 3)
	for i, c := range m.Commands {
		want(t, "index", c.Index, uint64(5+i))
	}
}

func TestM03WhoRemembersNoneGetsAllUnacknowledged(t *testing.T) {
	for _, acknowledged := range []uint64{0, 5} { // 5: M04
		w := newWorld(t, Options{})
		r := w.connect("a", 1, 8)
		w.offer(1, 2, 3, 4, 5, 6, 7, 8)
		r.take(0)
		r.says(events.TaskRunning, 1, 2, 3, 4, 5)
		r.report(events.RunnerReport{Received: acknowledged})
		r.received = 0
		from := len(w.sent)
		r.again("x")
		want(t, "missed", len(w.sent[from+1].Commands), int(8-acknowledged))
	}
}

func TestE02EventsThatCountedCountNoMore(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 8)
	w.offer(1, 2, 3)
	r.says(events.TaskRunning, 1, 2, 3)
	r.says(events.TaskStopped, 1)
	r.events = 3
	if list := r.says(events.TaskStopped, 1, 2); len(list) == 0 {
		t.Fatal("the event that is new does not count")
	}
	want(t, "slots in use", w.of(r).Used, uint32(1))
	r.events = 3
	if list := r.says(events.TaskStopped, 1, 2); len(list) > 0 { // E03
		t.Errorf("events that have counted made %+v", list)
	}
}

func TestE06TheNextWelcomeSaysWhatCounted(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 8)
	w.offer(1, 2)
	r.says(events.TaskRunning, 1, 2)
	r.says(events.TaskStopped, 2)
	r.again("x")
	want(t, "events that counted", r.counted, uint64(3))
}

func TestE08AnEventOfAnOtherAttemptIsStale(t *testing.T) {
	w := newWorld(t, Options{})
	a, b := w.connect("a", 1, 1), w.connect("b", 1, 1)
	w.offer(1, 2)
	b.says(events.TaskStopped, 1) // which a has
	want(t, "a has", w.of(a).Used, uint32(1))
	a.says(events.TaskStopped, 7) // which nobody has
	want(t, "a has", w.of(a).Used, uint32(1))
}

func TestL01WithoutASocketNothingIsGiven(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	w.offer(1)
	r.says(events.TaskRunning, 1)
	r.report(events.RunnerReport{Closed: "the socket broke"})
	w.offer(2)
	want(t, "started", r.started(), []int{1})
	want(t, "its state", w.of(r).State, "lost")
	want(t, "told", w.told(), nil)
}

func TestL02ComingBackInTimeChangesNothing(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	first := r.id
	w.offer(1)
	r.says(events.TaskRunning, 1)
	r.report(events.RunnerReport{Closed: "the socket broke"})
	w.offer(2)
	w.until(w.now + w.m.settings.Threshold.Milliseconds()/2)
	r.again("y")
	want(t, "id", r.id, first)
	want(t, "started", r.started(), []int{1, 2})
	want(t, "told", w.told(), nil)
}

func TestL03ARunnerThatStaysAwayIsOver(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	w.offer(1, 2)
	r.says(events.TaskRunning, 1)
	r.report(events.RunnerReport{Closed: "the socket broke"})
	w.until(w.now + w.m.settings.Threshold.Milliseconds())
	s := w.of(r)
	want(t, "its state", s.State, "stopped")
	if s.StopTS == "" || s.ExpiredTS == "" {
		t.Errorf("%+v", s)
	}
	want(t, "told", w.told(), []string{"1 lost", "2 lost"})
	before := r.id
	if r.again("y"); r.id == before {
		t.Error("a session that is over has come back")
	}
}

func TestL07ANewerSocketEvictsTheOlder(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	w.offer(1)
	first, older := r.id, r.conn
	r.again("y")
	want(t, "id", r.id, first)
	want(t, "closed", w.closed(), []string{frames.CloseEviction.Reason})
	newer := r.conn
	r.conn = older
	r.report(events.RunnerReport{Closed: frames.CloseEviction.Reason}) // which concerns nobody any more
	r.conn = newer
	want(t, "its state", w.of(r).State, "connected")
	w.offer(2)
	want(t, "started", r.started(), []int{1, 2})
	want(t, "told", w.told(), nil)
}

func TestAnotherProcessUnderTheSameKeyHasAnotherSession(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	first := r.id
	w.offer(1)
	r.says(events.TaskRunning, 1)
	r.hello.Instance = "another"
	r.received = 0
	r.again("x")
	if r.id == first {
		t.Error("a process that remembers nothing has the session of the one before")
	}
	want(t, "told", w.told(), []string{"1 lost"})
	want(t, "started", r.started(), nil)
}

func TestA03TheHighestRatioOfFreeSlotsIsFirst(t *testing.T) {
	w := newWorld(t, Options{})
	big := w.connect("big", 1, 100)
	w.offer(1)
	small := w.connect("small", 1, 10)
	w.offer(2)
	want(t, "the one with 99 of 100", big.started(), []int{1})
	want(t, "the one with 10 of 10", small.started(), []int{2})
	w.offer(3)
	want(t, "the one with 99 of 100", big.started(), []int{1, 3})
}

func TestA04TheQueueIsInOrder(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 1)
	w.offer(1, 2, 3)
	w.offerAt(4, 0) // of a higher priority
	want(t, "started", r.started(), []int{1})
	for _, n := range []int{1, 4, 2} {
		r.says(events.TaskRunning, n)
		r.says(events.TaskStopped, n)
	}
	want(t, "started", r.started(), []int{1, 4, 2, 3})
}

func TestA05NothingOvertakesTheQueue(t *testing.T) {
	w := newWorld(t, Options{})
	w.offer(1, 2)
	r := w.connect("a", 1, 1)
	w.offer(3)
	r.says(events.TaskStopped, 1)
	r.says(events.TaskStopped, 2)
	want(t, "started", r.started(), []int{1, 2, 3})
}

func TestTheNewestVersionGetsTheWork(t *testing.T) {
	for _, overflow := range []bool{false, true} {
		w := newWorld(t, Options{Overflow: overflow})
		older, newer := w.connect("older", 1, 4), w.connect("newer", 2, 1)
		w.offer(1, 2)
		want(t, "the newer", newer.started(), []int{1})
		if overflow {
			want(t, "the older, where work overflows", older.started(), []int{2})
		} else {
			want(t, "the older, where it waits", older.started(), nil)
		}
	}
}

func TestP03ASilentRunnerIsPassedOver(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	r.report(events.RunnerReport{Silent: true})
	w.offer(1)
	want(t, "started", r.started(), nil)
	r.report(events.RunnerReport{Heard: true})
	want(t, "started", r.started(), []int{1})
}
