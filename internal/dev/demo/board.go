package demo

import (
	"sync"
	"time"

	"github.com/heddle-run/heddle/examples/orders"
	"github.com/heddle-run/heddle/sdk/client"
)

// board is what is known of the orders so far. Many goroutines write to it.
type board struct {
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

func newBoard(cases []orders.Case) *board {
	return &board{cases: cases, lines: map[string]*line{}}
}

func (b *board) begin(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines[id] = &line{started: time.Now()}
	b.tally.started++
}

func (b *board) end(c orders.Case, w *client.Workflow, result []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lines[c.ID]
	l.took, l.workflow, l.result = time.Since(l.started), w, result
	switch {
	case w.Status != "completed":
		b.tally.failed++
	case c.Expect.Outcome == "declined":
		b.tally.declined++
	default:
		b.tally.shipped++
	}
}

func (b *board) now() tally {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tally
}

// line is a copy of an order's line; false when it has not ended.
func (b *board) line(id string) (line, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, ok := b.lines[id]
	if !ok || l.workflow == nil {
		return line{}, false
	}
	return *l, true
}
