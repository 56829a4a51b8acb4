package conformance

import (
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/frames"
)

func leaving() []one[*probe] {
	return []one[*probe]{
		{"D01", "a runner that stops drains: its attempts are told, and it gets no more", sd01},
		{"D03", "the events that come before ToServerStopping count before it", sd03},
		{"D04", "what a stopping runner has not begun goes elsewhere at once", sd04},
		{"D05", "an attempt that never stops is lost once its runner's time is over", sd05},
		{"D07", "an operator stops a runner: it drains, and is closed for good", sd07},
		{"D08", "an attempt that a stopping runner has stopped goes elsewhere, and has not failed", sd08},
	}
}

func sd01(p *probe) {
	r := p.connect("a", 3)
	p.start("1")
	one := r.take().Token
	p.start("2")
	two := r.take().Token
	r.report(running(one), running(two))
	r.send(&frames.ToServerStopping{})
	leaving := map[string]bool{}
	for len(leaving) < 2 {
		for _, c := range r.commands() {
			s, is := c.Inner.(*frames.StopTask)
			p.check(is && s.Reason == frames.StopGoingAway && !leaving[s.Token], "got %+v", c.Inner)
			leaving[s.Token] = true
		}
	}
	p.check(leaving[one] && leaving[two], "stops are sent for %v", leaving)
	got := p.is("a", draining)
	p.check(got.DrainTS != nil && got.ExpiredTS != nil, "the runner is %+v", got)
	p.start("3")
	r.silent(time.Second)
	r.report(succeeded(one, "one"), succeeded(two, "two"))
	p.result(p.started[0], "one")
	p.result(p.started[1], "two")
	r.hush()
	r.close(frames.CloseRunnerShutdown)
	got = p.is("a", stopped)
	p.check(got.StopTS != nil, "the runner is %+v", got)
}

func sd03(p *probe) {
	r := p.connect("a", 1)
	p.start("1")
	token := r.take().Token
	other := p.connect("b", 1)
	r.report(running(token))
	r.send(&frames.ToServerStopping{})
	r.told(token, frames.StopGoingAway)
	other.silent(time.Second)
	r.report(succeeded(token, "done"))
	p.result(p.started[0], "done")
	other.silent(time.Second)
}

func sd04(p *probe) {
	r := p.connect("a", 1)
	p.start("1")
	token := r.take().Token
	other := p.connect("b", 1)
	r.send(&frames.ToServerStopping{})
	r.told(token, frames.StopGoingAway)
	got := other.take()
	p.check(got.Workflow == p.started[0] && got.Token != token, "elsewhere comes %+v", got)
	other.report(running(got.Token), succeeded(got.Token, "done"))
	p.result(p.started[0], "done")
}

func sd05(p *probe) {
	const drain = 2 * time.Minute
	r := p.connect("a", 1)
	p.start("1")
	token := r.take().Token
	r.report(running(token))
	began := time.Now()
	r.send(&frames.ToServerStopping{})
	r.told(token, frames.StopGoingAway)
	p.elsewhere(began, drain, drain+2*r.threshold())
	p.is("a", stopped)
}

func sd07(p *probe) {
	r, token := p.begun(2)
	r.pulse = routine
	obeyed, err := p.options.API.StopRunner(p.ctx, p.pool, "a", client.StopRunnerOptions{By: client.By{Who: definitionName, Why: "the case says so"}})
	p.check(obeyed && err == nil, "the runner is not stopped: %v", err)
	r.told(token, frames.StopGoingAway)
	got := p.is("a", draining)
	p.check(got.DrainTS != nil && got.ExpiredTS != nil, "the runner is %+v", got)
	p.start("2")
	r.silent(time.Second)
	r.report(succeeded(token, "done"))
	r.evicted()
	p.result(p.started[0], "done")
	p.is("a", stopped)
}

func sd08(p *probe) {
	r := p.connect("a", 1)
	p.start("1")
	token := r.take().Token
	r.report(running(token))
	r.send(&frames.ToServerStopping{})
	r.told(token, frames.StopGoingAway)
	began := time.Now()
	r.report(failed(token, string(frames.StopGoingAway)))
	p.elsewhere(began, 0, slack)
}
