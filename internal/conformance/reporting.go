package conformance

import (
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

func reporting() []one[*trial] {
	return []one[*trial]{
		{"E06", "events that were not applied are sent again, as one message, and no others", e06},
		{"E07", "a client that has just started goes on behind lastEventIdx", e07},
		{"E10", "an attempt that ends while there is no socket is told afterwards", e10},
		{"E12", "another runnerId: attempts are stopped, the history is dropped, ends are told with new indexes", e12},
		{"H01", "the newest details of heartbeats come before the failure", h01},
	}
}

func e06(t *trial) {
	p := t.begin()
	for i := range 3 {
		p.commands(command(int64(i), fmt.Sprint("t", i), "echo", "1"))
	}
	p.events(6)
	p.drop()
	p, _ = t.accept(runnerID, 2)
	again := want[*frames.ToServerEvents](p).Events
	t.check(len(again) == 3 && again[0].Index == 3 && again[1].Index == 4 && again[2].Index == 5, "sent again: %+v, want 3, 4 and 5 as one message", again)
	p.send(&frames.ToClientAckEvents{LastEventIdx: 4})
	p.run(3, 6, "b", "echo", "1")
	p.state(7, "b", frames.StateStopped)
	p.drop()
	p, _ = t.accept(runnerID, 7)
	p.silent(t.scaled(10 * time.Second))
}

func e07(t *trial) {
	t.start()
	p, _ := t.accept(runnerID, 7)
	p.run(30, 8, "a", "echo", "1")
	p.state(9, "a", frames.StateStopped)
}

func e10(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "sleep", "400")
	t.server.status.Store(503)
	p.drop()
	t.sleep(600 * time.Millisecond)
	t.server.status.Store(0)
	p, _ = t.accept(runnerID, 0)
	end := p.state(1, "a", frames.StateStopped)
	t.check(end.OK && same(end.Result, []byte(`"slept"`)), "it has ended as %+v, %+v", end, end.Error)
}

func e12(t *trial) {
	p := t.begin()
	p.run(0, 0, "short", "sleep", "300")
	p.run(1, 1, "long", "sleep", "60000")
	t.server.status.Store(503)
	p.drop()
	t.sleep(500 * time.Millisecond)
	t.server.status.Store(0)
	p, _ = t.accept("runner-2", -1)
	ends := map[string]bool{}
	for i, e := range p.events(2) {
		s, ok := e.Inner.(*frames.TaskState)
		t.check(ok && e.Index == int64(i) && s.State == frames.StateStopped, "event %d is %+v, want an end with index %d", e.Index, e.Inner, i)
		ends[s.Token] = s.OK
	}
	long, is := ends["long"]
	t.check(ends["short"] && is && !long, "ended are %v, want short with a result and long with an error", ends)
	p.run(0, 2, "new", "echo", "1") // commands begin anew, too
	p.state(3, "new", frames.StateStopped)
	p.drop()
	_, init := t.accept("runner-2", 3)
	t.check(init.LastCommandIdx != nil && *init.LastCommandIdx == 0, "lastCommandIdx is %v, want 0", init.LastCommandIdx)
}

func h01(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "beat", `[1,2,{"n":3}]`)
	var details []byte
	for index := int64(1); ; index++ {
		e := p.events(1)[0]
		t.check(e.Index == index, "event %d comes, want %d", e.Index, index)
		switch r := e.Inner.(type) {
		case *frames.Heartbeat:
			t.check(r.Token == "a", "a heartbeat of %s", r.Token)
			details = r.Details
		case *frames.TaskState:
			t.check(r.State == frames.StateStopped && !r.OK && same(details, []byte(`{"n":3}`)), "it ends as %+v after the details %s, want the newest ones", r, details)
			return
		default:
			t.fail("got %T", r)
		}
	}
}
