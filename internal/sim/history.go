package sim

import (
	"fmt"
	"hash/fnv"
	"io"
	"time"
)

// history is what has happened in a run, in order.
type history struct {
	keep   bool // the lines; else their digest only
	lines  []string
	digest uint64
	count  int
}

func (h *history) add(step int, at time.Duration, format string, args ...any) {
	line := fmt.Sprintf("%5d %12s  ", step, at) + fmt.Sprintf(format, args...)
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%x", h.digest)
	_, _ = io.WriteString(sum, line) // a hash never fails
	h.digest = sum.Sum64()
	h.count++
	if h.keep {
		h.lines = append(h.lines, line)
	}
}
