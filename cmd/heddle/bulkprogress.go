package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// bulkProgress shows how far an operation is: on a terminal as one line that is drawn
// again and again, else as a line now and then.
type bulkProgress struct {
	out      io.Writer
	terminal bool
	op       *operation
	told     int // workflows that had trouble
	shown    time.Time
	drawn    bool // a line without an end stands on the terminal
}

const (
	drawEvery = 100 * time.Millisecond
	lineEvery = 5 * time.Second
	barWidth  = 24
)

func newBulkProgress(out io.Writer, terminal bool, op *operation) *bulkProgress {
	return &bulkProgress{out: out, terminal: terminal, op: op, shown: time.Now()}
}

func (p *bulkProgress) begin() {
	fmt.Fprintf(p.out, "operation %s: %s where %s\n", p.op.ID, p.op.Order.Command, shown(p.op.Where))
}

// result tells of trouble at once, and of the rest when it is time.
func (p *bulkProgress) result(r client.BulkResult) {
	if r.Err != nil {
		p.trouble(r)
	}
	every := lineEvery
	if p.terminal {
		every = drawEvery
	}
	if time.Since(p.shown) >= every {
		p.show()
	}
}

func (p *bulkProgress) trouble(r client.BulkResult) {
	if p.told++; p.told > maxTroubles+1 {
		return
	}
	p.clear()
	if p.told > maxTroubles {
		fmt.Fprintln(p.out, "others that are refused or fail are counted only")
		return
	}
	fmt.Fprintf(p.out, "%s: %s: %s\n", shown(r.Workflow), r.Outcome, shown(r.Err.Error()))
}

func (p *bulkProgress) show() {
	p.clear()
	p.shown = time.Now()
	line := p.line()
	if !p.terminal {
		fmt.Fprintln(p.out, line)
		return
	}
	fmt.Fprint(p.out, line)
	p.drawn = true
}

// line is how far it is; of how many only where they were counted.
func (p *bulkProgress) line() string {
	n, total := p.op.Tally.all(), p.op.Total
	if total == 0 {
		return fmt.Sprintf("%d workflows: %s", n, p.op.Tally.String())
	}
	full := min(barWidth, n*barWidth/total)
	return fmt.Sprintf("[%s%s] %d/%d  %s", strings.Repeat("#", full), strings.Repeat(" ", barWidth-full), n, total, p.op.Tally.String())
}

// clear takes away the line that stands on the terminal.
func (p *bulkProgress) clear() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.drawn = false
}

// end leaves the line as it is now.
func (p *bulkProgress) end() {
	if p.terminal {
		p.show()
		fmt.Fprintln(p.out)
	}
}
