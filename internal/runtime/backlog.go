package runtime

import (
	"time"
)

// Tally is a count under way. The zero value has counted nothing.
type Tally struct {
	pending  uint64
	notified uint64
	oldest   int64 // Unix ms of the oldest pending dispatch; 0: none
}

// Add counts one open dispatch: since when (Unix ms), and whether a worker has it.
func (t *Tally) Add(since int64, notified bool) {
	if notified {
		t.notified++
		return
	}
	t.pending++
	if t.oldest == 0 || since < t.oldest {
		t.oldest = since
	}
}

// Published is the count as the partition's record shows it. What is delivered
// or failed has no dispatch record any more and counts for nothing.
func (t *Tally) Published() Backlog {
	b := Backlog{Pending: t.pending, Notified: t.notified}
	if t.oldest > 0 {
		text := FormatTime(time.UnixMilli(t.oldest))
		b.OldestPendingSince = &text
	}
	return b
}
