package conformance

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

func connecting() []one[*trial] {
	return []one[*trial]{
		{"C01", "the client connects as it is told, and ToServerInit is its first frame", c01},
		{"C05", "a client whose URL is not taken does not try again", c05},
		{"C10", "a second ToClientInit is passed", c10},
		{"P01", "a ping every 3 s", p01},
		{"P03", "a server that says nothing for pingTimeout is left", p03},
		{"L11", "the delay of reconnecting grows, has its bound, and begins anew after ToClientInit", l11},
		{"D12", "a client that stops while it connects sends no ToServerInit", d12},
	}
}

func c01(t *trial) {
	t.start()
	began := time.Now()
	p := t.next()
	q := p.request.URL.Query()
	t.check(p.request.URL.Path == frames.Path, "the path is %s", p.request.URL.Path)
	t.check(q.Get(frames.QueryVersion) == "1" && q.Get(frames.QueryPool) == poolName && q.Get(frames.QueryKey) == runnerKey, "the query is %v", q)
	encoding, err := frames.ParseEncoding(q.Get(frames.QueryEncoding))
	t.check(err == nil && encoding == t.options.Encoding, "the query is %v", q)
	var offered []string
	for _, header := range p.request.Header.Values("Sec-Websocket-Protocol") {
		for part := range strings.SplitSeq(header, ",") {
			offered = append(offered, strings.TrimSpace(part))
		}
	}
	t.check(slices.Contains(offered, frames.Subprotocol), "the sub-protocols are %q", offered)
	bearer, err := frames.ParseTokenProtocol(offered)
	t.check(err == nil && (bearer == token || p.request.Header.Get("Authorization") == "Bearer "+token), "there is no token in the headers")
	init := want[*frames.ToServerInit](p)
	t.check(time.Since(began) < patience, "ToServerInit is late")
	t.check(init.LastCommandIdx == nil, "a client that has had no command says that it had %v", init.LastCommandIdx)
	for _, task := range Tasks {
		t.check(slices.ContainsFunc(init.PrepopulateTaskNames, func(n wire.Pair) bool { return n.Key == task.Name }), "ToServerInit does not name %s", task.Name)
	}
	p.silent(t.scaled(5 * time.Second))
	p.init(runnerID, -1, longLost)
	p.run(0, 0, "a", "echo", "1")
	p.state(1, "a", frames.StateStopped)
	t.alive()
}

func c05(t *trial) {
	t.start()
	t.next().close(frames.CloseInvalidURL)
	t.exited(false)
	t.none(t.scaled(10 * time.Second))
}

func c10(t *trial) {
	p := t.begin()
	p.init("runner-2", 40, longLost)
	p.run(0, 0, "a", "echo", "1")
	p.state(1, "a", frames.StateStopped)
}

func p01(t *trial) {
	p := t.begin()
	for range 5 {
		select {
		case f, open := <-p.in:
			ping, ok := f.(*frames.ToServerPing)
			t.check(open && ok && ping.Ts > 0, "got %T, want a ping", f)
			p.send(&frames.ToClientPong{Ts: ping.Ts})
		case <-time.After(t.scaled(3*time.Second) + slack):
			t.fail("no ping comes")
		}
	}
	took, want := time.Since(p.opened), t.scaled(4*3*time.Second) // one that is late makes the next one seem early, but none comes before its time
	t.check(took >= want, "five pings come within %v, want %v", took, want)
}

func p03(t *trial) {
	t.start()
	p := t.next()
	want[*frames.ToServerInit](p)
	silence := 300 * time.Millisecond
	p.terms(runnerID, -1, longLost, silence)
	began := time.Now()
	t.accept(runnerID, -1)
	t.check(time.Since(began) >= silence, "the socket is left after %v, pingTimeout is %v", time.Since(began), silence)
}

func l11(t *trial) {
	t.start()
	var last time.Time
	var longest time.Duration
	for n := range 7 {
		p := t.next()
		if n > 0 {
			longest = p.opened.Sub(last)
			t.within("a new socket", longest, min(time.Second<<(n-1), 30*time.Second))
		}
		want[*frames.ToServerInit](p)
		last = time.Now()
		p.close(frames.CloseGoingAway)
	}
	p, _ := t.accept(runnerID, -1)
	p.run(0, 0, "a", "echo", "1") // it has had ToClientInit
	last = time.Now()
	p.close(frames.CloseGoingAway)
	d := t.next().opened.Sub(last)
	t.check(d >= t.scaled(time.Second)*95/100 && d < longest*8/10, "after ToClientInit a new socket comes after %v, and before that after %v", d, longest)
}

func d12(t *trial) {
	t.server.holding.Store(true)
	t.start()
	select {
	case <-t.server.asked:
	case <-time.After(patience):
		t.fail("the client does not connect")
	}
	t.signal(syscall.SIGTERM)
	t.exited(true)
	t.check(len(t.server.sockets) == 0, "the client has opened a socket")
}
