package demo

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// ticker shows how far the orders are: on a terminal as one line that is drawn
// again and again, else as a line now and then.
type ticker struct {
	d     *demo
	began time.Time

	mu    sync.Mutex
	drawn bool // a line without an end stands on the terminal
}

func newTicker(d *demo, began time.Time) *ticker { return &ticker{d: d, began: began} }

func (t *ticker) run(ctx context.Context) {
	every := 2 * time.Second
	if t.d.Terminal {
		every = 100 * time.Millisecond
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			t.show(!t.d.Terminal)
		}
	}
}

// last shows the end.
func (t *ticker) last() {
	t.show(true)
	fmt.Fprintln(t.d.Out)
}

func (t *ticker) show(end bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.d.progress.now()
	line := fmt.Sprintf("%6.1fs  %s %2d/%d started  %2d shipped  %d declined  %d failed  %2d open",
		time.Since(t.began).Seconds(), bar(n.ended(), n.started, len(t.d.progress.cases)),
		n.started, len(t.d.progress.cases), n.shipped, n.declined, n.failed, n.open())
	t.clear()
	fmt.Fprint(t.d.Out, line)
	if end {
		fmt.Fprintln(t.d.Out)
	}
	t.drawn = !end
}

// note writes a line between the progress.
func (t *ticker) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	fmt.Fprintf(t.d.Out, "%6.1fs  %s\n", time.Since(t.began).Seconds(), fmt.Sprintf(format, args...))
}

// clear takes away the line that stands on the terminal.
func (t *ticker) clear() {
	if t.drawn && t.d.Terminal {
		fmt.Fprint(t.d.Out, "\r\x1b[K")
	}
	t.drawn = false
}

// width of the bar in characters: the line fits a terminal of 80.
const width = 12

// bar draws what has ended, what is open, and what is to come.
func bar(ended, started, all int) string {
	e, s := ended*width/all, started*width/all
	return "[" + strings.Repeat("#", e) + strings.Repeat("-", s-e) + strings.Repeat(" ", width-s) + "]"
}
