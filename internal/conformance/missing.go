package conformance

import (
	"errors"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/frames"
)

func missing() []one[*probe] {
	return []one[*probe]{
		{"L01", "a runner without a socket gets no work, and keeps what it has", sl01},
		{"L02", "a runner that comes back in time is the same, and gets what waits", sl02},
		{"L03", "a runner that does not come back is over, and its attempts go elsewhere", sl03},
		{"L07", "a newer socket of a runner evicts the older, on whichever executor", sl07},
		{"L09", "another process with the same key is another runner, and the one before is over", sl09},
		{"D11", "the attempts of a runner that stops at once are lost once it is over", sd11},
	}
}

func sl01(p *probe) {
	r, token := p.begun(2)
	r.lose()
	p.until("a", lost, time.Second+slack, func(r *client.Runner) bool { return r.State == lost && r.Used == 1 })
	p.start("2")
	other := p.connect("b", 1)
	got := other.take()
	p.check(got.Workflow == p.started[1] && got.Attempt == 1, "another one gets %+v", got)
	r = p.again(r)
	r.report(succeeded(token, "done"))
	p.result(p.started[0], "done")
}

func sl02(p *probe) {
	r := p.connect("a", 2)
	first := r.id
	p.start("1")
	token := r.take().Token
	r.report(running(token))
	r.lose()
	p.is("a", lost)
	p.start("2")
	p.sleep(r.threshold() / 2)
	r = p.again(r)
	p.check(r.id == first && r.seen == 0, "the runner is %s, lastEventIdx %d, and was %s", r.id, r.seen, first)
	next := r.take()
	p.check(next.Workflow == p.started[1] && next.Attempt == 1, "then comes %+v", next)
	r.report(succeeded(token, "one"), running(next.Token), succeeded(next.Token, "two"))
	p.result(p.started[0], "one")
	p.result(p.started[1], "two")
}

func sl03(p *probe) {
	r, _ := p.begun(2)
	began := time.Now()
	r.lose()
	p.elsewhere(began, r.threshold(), 2*r.threshold())
	got := p.is("a", stopped)
	p.check(got.StopTS != nil && got.ExpiredTS != nil && got.Reason != "" && got.Used == 0, "the runner is %+v", got)
	r.last = nil
	first := r.id
	r = p.again(r)
	p.check(r.id != first && r.seen == -1, "the runner has come back as %s, lastEventIdx %d", r.id, r.seen)
}

// elsewhere has another runner get the attempt that was lost, at its time, and end it.
func (p *probe) elsewhere(began time.Time, from, to time.Duration) {
	other := p.connect("elsewhere", 1)
	got := other.takes(to + patience)
	took := time.Since(began)
	p.check(took >= from*95/100 && took <= to+slack, "the attempt goes elsewhere after %v, want %v to %v", took, from, to)
	p.check(got.Workflow == p.started[0] && got.Attempt == 2, "elsewhere comes %+v", got)
	other.report(running(got.Token), succeeded(got.Token, "elsewhere"))
	p.result(p.started[0], "elsewhere")
}

func sl07(p *probe) {
	r, token := p.begun(2)
	newer := p.openAt(p.options.URLs[len(p.options.URLs)-1], "a")
	f := initial(2)
	f.LastCommandIdx = r.last
	newer.event, newer.last = r.event, r.last
	newer.greet(f)
	newer.ping()
	p.check(newer.id == r.id && newer.seen == 0, "the newer socket is of %s, lastEventIdx %d; the older of %s", newer.id, newer.seen, r.id)
	r.evicted()
	p.start("2")
	next := newer.take()
	newer.report(succeeded(token, "one"), running(next.Token), succeeded(next.Token, "two"))
	p.result(p.started[0], "one")
	p.result(p.started[1], "two")
}

// evicted ends the case unless the socket is closed so that the runner does not come back.
func (r *scripted) evicted() {
	want[*frames.ToClientClose](r)
	r.closes(frames.CloseEviction)
	r.hush()
}

func sl09(p *probe) {
	r, _ := p.begun(1)
	other := p.open("a")
	f := initial(1)
	f.Instance = "two"
	other.greet(f)
	other.ping()
	p.check(other.id != r.id && other.seen == -1, "another process is %s, lastEventIdx %d; the one before is %s", other.id, other.seen, r.id)
	r.evicted()
	got := other.take()
	p.check(got.Workflow == p.started[0] && got.Attempt == 2, "it gets %+v", got)
	other.report(running(got.Token), succeeded(got.Token, "done"))
	p.result(p.started[0], "done")
}

func sd11(p *probe) {
	r, _ := p.begun(1)
	r.hush()
	began := time.Now()
	if err := r.conn.Close(websocket.StatusCode(frames.CloseRunnerShutdown.Code), frames.CloseRunnerShutdown.Reason); err != nil && !errors.As(err, new(websocket.CloseError)) {
		p.fail("the close is not answered: %v", err)
	}
	p.elsewhere(began, r.threshold(), 2*r.threshold())
}
