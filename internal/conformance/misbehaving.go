package conformance

import (
	"strings"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/frames"
)

func misbehaving() []one[*probe] {
	return []one[*probe]{
		{"F01", "a flood of frames that cannot be read, and of stale events, disturbs nobody", sf01},
		{"F02", "a runner that does not read is closed, and nobody else is disturbed", sf02},
		{"F03", "what a runner says of another's attempt moves no slot", sf03},
	}
}

// flood is how many frames a flood has.
const flood = 3000

func sf01(p *probe) {
	r, other := p.connect("a", 1), p.connect("b", 1)
	stale := frames.EncodeToServer(r.encoding, &frames.ToServerEvents{Events: []frames.Event{{Index: 0, Inner: nothing()}}})
	for range flood {
		r.write([]byte("neither"))
		r.write(stale)
	}
	other.alive()
	r.alive()
	r.acked(0)
}

// burst is how many pings are sent at a time by a runner that reads no answer, and mostBursts how often, at most.
const (
	burst      = 1000
	mostBursts = 2000
)

func sf02(p *probe) {
	r, other := p.connect("a", 1), p.connect("b", 1)
	r.hush()
	ping := frames.EncodeToServer(r.encoding, &frames.ToServerPing{Ts: 1})
	taken := func() bool {
		for range burst { // the answers fill what line.read has room for, and then the socket
			if r.put(ping) != nil {
				return false
			}
		}
		return true
	}
	for n := 0; taken(); n++ {
		p.check(n < mostBursts, "a runner that has not read the answers to %d pings is served on", n*burst)
		other.alive()
		p.sleep(10 * time.Millisecond)
	}
	p.until("a", "closed for it", patience, func(r *client.Runner) bool {
		return r.State == lost && strings.Contains(r.Reason, frames.CloseSlow.Reason)
	})
	other.alive()
}

func sf03(p *probe) {
	r, token := p.begun(1)
	other := p.connect("b", 1)
	other.report(running(token), failed(token, string(frames.StopGoingAway)))
	other.acked(1)
	got := p.is("a", connected)
	p.check(got.Used == 1, "the slots in use are %d, want 1", got.Used)
	r.report(succeeded(token, "done"))
	p.result(p.started[0], "done")
}
