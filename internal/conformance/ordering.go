package conformance

import (
	"fmt"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/frames"
)

func ordering() []one[*probe] {
	return []one[*probe]{
		{"M01", "commands have indexes from 0, without a gap", sm01},
		{"M02", "missed commands come behind ToClientInit, in one batch", sm02},
		{"M03", "a runner that remembers no command gets all that it has not acknowledged", sm03},
		{"M04", "acknowledged commands do not come again", sm04},
		{"M10", "an attempt that is not wanted any more is stopped", sm10},
		{"R01", "an attempt that fails is followed by another one, behind the wait of its policy", sr01},
		{"R03", "a start that is not confirmed within 30 s is lost, and goes elsewhere", sr03},
		{"R05", "a failure of an attempt is the step's", sr05},
	}
}

// five has a runner run five attempts, with the commands 0 to 4, and gives their tokens.
func five(p *probe) (r *scripted, tokens []string) {
	r = p.connect("a", 8)
	for i := range 5 {
		p.start(fmt.Sprint(i))
		all := r.commands()
		start, is := all[0].Inner.(*frames.StartTask)
		p.check(is && len(all) == 1 && all[0].Index == int64(i), "got %d commands with %+v, want the start %d", len(all), all[0], i)
		tokens = append(tokens, start.Token)
		r.report(running(start.Token))
	}
	return r, tokens
}

func sm01(p *probe) {
	r, tokens := five(p)
	for i, token := range tokens {
		r.report(succeeded(token, fmt.Sprint("done ", i)))
	}
	for i, id := range p.started {
		p.result(id, fmt.Sprint("done ", i))
	}
	p.until("a", "free", patience, func(r *client.Runner) bool { return r.Used == 0 })
}

func sm02(p *probe) {
	r, _ := five(p)
	r.lose()
	p.is("a", lost)
	for i := range 3 {
		p.start(fmt.Sprint("more", i))
	}
	r = p.again(r)
	r.getsCommands("[5 6 7]")
	r.silent(time.Second)
}

func sm03(p *probe) {
	r, _ := five(p)
	r.lose()
	p.is("a", lost)
	r.last = nil
	r = p.again(r)
	r.getsCommands("[0 1 2 3 4]")
	r.silent(time.Second)
}

func sm04(p *probe) {
	r, _ := five(p)
	r.send(&frames.ToServerAckCommands{LastCommandIdx: 2})
	r.lose()
	p.is("a", lost)
	r.last = nil
	r = p.again(r)
	r.getsCommands("[3 4]")
	r.silent(time.Second)
}

func sm10(p *probe) {
	r := p.connect("a", 1)
	id := p.start("1")
	token := r.take().Token
	r.report(running(token))
	_, err := p.options.API.Cancel(p.ctx, id, client.By{Who: definitionName})
	p.check(err == nil, "the workflow is not cancelled: %v", err)
	r.told(token, frames.StopCancelled)
	r.report(failed(token, string(frames.StopCancelled)))
	p.until("a", "free", patience, func(r *client.Runner) bool { return r.Used == 0 && r.State == connected })
}

func sr01(p *probe) {
	r := p.connect("a", 1)
	p.start("1", map[string]any{"match": "default", "max_retries": 3, "backoff": "exponential", "base_delay": "2s", "inherit": true})
	token, wait := r.take().Token, 2*time.Second
	for n := uint32(2); n <= 4; n++ {
		began := time.Now()
		r.report(running(token), failed(token, "busy"))
		next := r.take()
		took := time.Since(began)
		p.check(next.Attempt == n && took >= wait*95/100 && took <= wait+slack, "attempt %d comes after %v, want %d after %v", next.Attempt, took, n, wait)
		token, wait = next.Token, 2*wait
	}
	r.report(running(token), succeeded(token, "at last"))
	p.result(p.started[0], "at last")
}

func sr03(p *probe) {
	const confirm = 30 * time.Second
	r, began := p.connect("a", 1), time.Now()
	p.start("1")
	token := r.take().Token
	other := p.connect("b", 1)
	again := other.takes(confirm + patience)
	took := time.Since(began)
	p.check(took >= confirm*95/100 && took <= confirm+slack, "it is lost after %v, want %v", took, confirm)
	p.check(again.Attempt == 2 && again.Token != token, "then comes %+v", again)
	r.told(token, frames.StopLost)
	p.start("2") // which waits for the other one
	r.silent(time.Second)
	other.report(running(again.Token), succeeded(again.Token, "again"))
	p.result(p.started[0], "again")
	other.take()
}

func sr05(p *probe) {
	r := p.connect("a", 1)
	id := p.start("1")
	token := r.take().Token
	r.report(running(token), failed(token, "declined"))
	w, err := p.options.API.Run(id).Wait(p.ctx)
	p.check(err == nil && w.Status == client.StatusFailed && w.Failure != nil && w.Failure.Error.Type == "declined", "the workflow is %+v, %v", w, err)
	p.until("a", "free", patience, func(r *client.Runner) bool { return r.Used == 0 })
}
