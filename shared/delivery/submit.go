package delivery

import (
	"fmt"
	"strings"
	"time"
)

// PressPause is the time between two presses of Enter: the second is a nudge with the same work, left
// out where the first one was confirmed meanwhile.
const PressPause = 100 * time.Millisecond

// usualPresses are those of workers of which no policy speaks.
const usualPresses = 2

// maxPresses bounds what a policy may ask for.
const maxPresses = 10

// SubmitPolicy says how often Enter is pressed, by the kind of the worker: its label, trimmed and
// in lower case.
type SubmitPolicy struct{ presses map[string]int }

// NewSubmitPolicy is the usual policy (claude once, all others twice) with other presses laid over it. The
// kind "" stands for workers without a kind only. It refuses negative numbers and those over 10.
func NewSubmitPolicy(presses map[string]int) (SubmitPolicy, error) {
	p := SubmitPolicy{map[string]int{"claude": 1}}
	for kind, n := range presses { // order: kinds are told apart by their labels
		if n < 0 || n > maxPresses {
			return SubmitPolicy{}, fmt.Errorf("%d presses for %q: must be from 0 to %d", n, kind, maxPresses)
		}
		p.presses[Label(kind)] = n
	}
	return p, nil
}

// Label is how the kind of a worker is compared.
func Label(kind string) string { return strings.ToLower(strings.TrimSpace(kind)) }

// Presses is how often Enter is pressed for a kind of worker: at least once.
func (p SubmitPolicy) Presses(kind string) int {
	n, ok := p.presses[Label(kind)]
	if !ok {
		return usualPresses
	}
	return max(1, n)
}
