package sim

import (
	"fmt"
	"hash/fnv"
	"io"
	"time"
)

// Line is one thing that happened in a run.
type Line struct {
	Text  string
	About Subject
	Noise bool // time that passes, polls and other questions, what is sent but not written yet
}

// history is what has happened in a run, in order.
type history struct {
	keep   bool // the lines; else their digest only
	lines  []Line
	digest uint64
	count  int
}

func (h *history) add(step int, at time.Duration, about Subject, noise bool, format string, args ...any) {
	line := stamp(step, at) + fmt.Sprintf(format, args...)
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%x", h.digest)
	_, _ = io.WriteString(sum, line) // a hash never fails
	h.digest = sum.Sum64()
	h.count++
	if h.keep {
		h.lines = append(h.lines, Line{line, about, noise})
	}
}

// tell adds a line that only readers need: it follows from the others.
func (h *history) tell(step int, at time.Duration, about Subject, text string) {
	h.lines = append(h.lines, Line{Text: stamp(step, at) + text, About: about})
}

func stamp(step int, at time.Duration) string { return fmt.Sprintf("%5d %12s  ", step, at) }
