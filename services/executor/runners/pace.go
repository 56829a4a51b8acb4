package runners

import (
	"sync"
	"time"
)

// between is the time between two lines of the log about frames that cannot be read.
const between = 10 * time.Second

// pace has something be said now and then only. The zero value is ready.
type pace struct {
	mu     sync.Mutex
	next   time.Duration
	passed int
}

// tell reports whether it may be said now, and how often it was not since the last time.
func (p *pace) tell(now time.Duration) (passed int, may bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now < p.next {
		p.passed++
		return 0, false
	}
	passed = p.passed
	p.next, p.passed = now+between, 0
	return passed, true
}
