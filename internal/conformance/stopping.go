package conformance

import (
	"syscall"
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

func stopping() []one[*trial] {
	return []one[*trial]{
		{"D01", "a graceful stop says so, waits for its attempts, and closes", d01},
		{"D02", "an attempt whose runner is going away may end by itself, and is stopped before the 120 s are over", d02},
		{"D05", "a graceful stop ends after 120 s", d05},
		{"D06", "a graceful stop ends when the socket breaks", d06},
		{"D11", "an immediate stop closes at once", d11},
	}
}

func d01(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "sleep", "400")
	t.signal(syscall.SIGTERM)
	want[*frames.ToServerStopping](p)
	end := p.state(1, "a", frames.StateStopped)
	t.check(end.OK, "it has ended as %+v", end.Error)
	p.offer(&frames.ToClientAckEvents{LastEventIdx: 1})
	c := p.ended(patience)
	t.check(c == frames.CloseRunnerShutdown, "closed with %+v", c)
	t.exited(true)
	t.none(t.scaled(10 * time.Second))
}

func d02(t *trial) {
	p := t.begin()
	p.run(0, 0, "short", "sleep", "400")
	p.run(1, 1, "long", "sleep", "60000")
	leave := func(index int64, token string) frames.Command {
		return frames.Command{Index: index, Inner: &frames.StopTask{Token: token, Reason: frames.StopGoingAway}}
	}
	began := time.Now()
	p.commands(leave(2, "short"), leave(3, "long"))
	end := p.state(2, "short", frames.StateStopped)
	t.check(end.OK, "it has ended as %+v", end.Error)
	end = p.state(3, "long", frames.StateStopped)
	t.check(!end.OK && time.Since(began) < t.scaled(120*time.Second)+slack, "it has ended as %+v after %v", end, time.Since(began))
}

func d05(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "stubborn", "60000")
	began := time.Now()
	t.signal(syscall.SIGTERM)
	c := p.ended(t.scaled(120*time.Second) + patience)
	t.within("the close", time.Since(began), 120*time.Second)
	t.check(c == frames.CloseRunnerShutdown, "closed with %+v", c)
	t.exited(true)
}

func d06(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "sleep", "60000")
	t.signal(syscall.SIGTERM)
	want[*frames.ToServerStopping](p)
	p.drop()
	t.exited(true)
	t.none(t.scaled(10 * time.Second))
}

func d11(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "sleep", "60000")
	t.signal(syscall.SIGINT)
	for f := p.frame(patience); f != nil; f = p.frame(patience) {
		_, is := f.(*frames.ToServerStopping)
		t.check(!is, "an immediate stop sends ToServerStopping")
	}
	t.check(p.closed() == frames.CloseRunnerShutdown, "closed with %+v", p.closed())
	t.exited(true)
}
