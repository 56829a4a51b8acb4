package demo

import (
	"sync"
	"time"

	"github.com/heddle-run/heddle/examples/orders"
	"github.com/heddle-run/heddle/sdk/client"
)

// progress is what is known of the orders so far. Many goroutines write to it.
type progress struct {
	cases []orders.Case

	mu    sync.Mutex
	lines map[string]*line // by order
	tally tally
}

// line is one order.
type line struct {
	started  time.Time
	took     time.Duration
	workflow *client.Workflow // as it ended
	result   []byte           // the output `order`
}

// tally counts orders by what became of them.
type tally struct {
	started, shipped, declined, failed int
}

// open is how many have started and not ended.
func (t tally) open() int { return t.started - t.ended() }

func (t tally) ended() int { return t.shipped + t.declined + t.failed }

func newProgress(cases []orders.Case) *progress {
	return &progress{cases: cases, lines: map[string]*line{}}
}

func (p *progress) begin(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines[id] = &line{started: time.Now()}
	p.tally.started++
}

func (p *progress) end(c orders.Case, w *client.Workflow, result []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[c.ID]
	l.took, l.workflow, l.result = time.Since(l.started), w, result
	switch {
	case w.Status != "completed":
		p.tally.failed++
	case c.Expect.Outcome == "declined":
		p.tally.declined++
	default:
		p.tally.shipped++
	}
}

func (p *progress) now() tally {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tally
}

// line is a copy of an order's line; false when it has not ended.
func (p *progress) line(id string) (line, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, ok := p.lines[id]
	if !ok || l.workflow == nil {
		return line{}, false
	}
	return *l, true
}
