package conformance

import (
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

func losing() []one[*trial] {
	return []one[*trial]{
		{"L02", "a socket that comes back in time changes nothing for attempts", l02},
		{"L05", "without a socket for runnerLostThreshold attempts are stopped, which is an error", l05},
		{"L07", "a client that is evicted stops, and does not come back", l07},
		{"L08", "a client comes back to a server that is going away", l08},
	}
}

func l02(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "sleep", "600")
	for range 2 {
		p.drop()
		p, _ = t.accept(runnerID, 0)
	}
	end := p.state(1, "a", frames.StateStopped)
	t.check(end.OK, "it has ended as %+v", end.Error)
}

func l05(t *trial) {
	t.start()
	p := t.next()
	want[*frames.ToServerInit](p)
	p.init(runnerID, -1, 300*time.Millisecond)
	p.run(0, 0, "a", "sleep", "3000")
	t.server.status.Store(503)
	p.drop()
	t.sleep(time.Second)
	t.server.status.Store(0)
	p, _ = t.accept(runnerID, 0)
	end := p.state(1, "a", frames.StateStopped)
	t.check(!end.OK, "an attempt that was lost has ended well")
}

func l07(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "sleep", "60000")
	p.send(&frames.ToClientClose{Reason: "another connection"})
	p.close(frames.CloseEviction)
	t.exited(false)
	t.none(t.scaled(10 * time.Second))
}

func l08(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "sleep", "600")
	p.close(frames.CloseGoingAway)
	p, _ = t.accept(runnerID, 0)
	end := p.state(1, "a", frames.StateStopped)
	t.check(end.OK, "it has ended as %+v", end.Error)
}
