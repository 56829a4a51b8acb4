package conformance

import (
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

func allotting() []one[*probe] {
	return []one[*probe]{
		{"A03", "the runner with the highest ratio of free slots gets an attempt", sa03},
		{"A04", "the queue is in the order of arrival", sa04},
		{"A05", "nothing overtakes what waits", sa05},
		{"D10", "runners of the newest version get the work, and older ones keep theirs", sd10},
	}
}

func sa03(p *probe) {
	big := p.connect("big", 100)
	p.start("1")
	big.take()
	small := p.connect("small", 10)
	p.start("2")
	small.take()
	p.start("3")
	big.take()
}

func sa04(p *probe) {
	r := p.connect("a", 1)
	p.start("1")
	token := r.take().Token
	p.start("2")
	p.start("3")
	for i := range 3 {
		r.report(running(token), succeeded(token, "done"))
		p.result(p.started[i], "done")
		if i < 2 {
			next := r.take()
			p.check(next.Workflow == p.started[i+1], "behind %s comes %s", p.started[i], next.Workflow)
			token = next.Token
		}
	}
}

func sa05(p *probe) {
	r := p.connect("a", 1)
	p.start("1")
	token := r.take().Token
	p.start("2")
	r.report(running(token), succeeded(token, "done"))
	p.start("3")
	next := r.take()
	p.check(next.Workflow == p.started[1], "%s comes before %s", next.Workflow, p.started[1])
}

func sd10(p *probe) {
	older := p.connect("older", 4)
	p.start("1")
	token := older.take().Token
	older.report(running(token))
	newer := p.open("newer")
	f := initial(1)
	f.Version = 2
	newer.greet(f)
	newer.ping()
	p.start("2")
	newer.take()
	p.start("3") // which waits
	older.silent(time.Second)
	p.until("older", "connected, with its attempt", patience, func(r *client.Runner) bool { return r.State == connected && r.Used == 1 })
	older.report(succeeded(token, "done"))
	p.result(p.started[0], "done")
}
