package client

import (
	"context"
	"sync"
	"time"
)

// pace spreads commands evenly: so many a second, with nothing saved up while there are
// none. The first one waits, too, so that a pace holds over runs that follow each other.
// It is safe for concurrent use.
type pace struct {
	every time.Duration // 0: as fast as they come

	mu   sync.Mutex
	next time.Time // when the next one may go
}

// newPace is one of so many a second; 0: no limit.
func newPace(perSecond float64) *pace {
	p := &pace{}
	if perSecond > 0 {
		p.every = time.Duration(float64(time.Second) / perSecond)
	}
	p.next = time.Now().Add(p.every)
	return p
}

// take waits until one more may go, or ctx ends.
func (p *pace) take(ctx context.Context) error {
	p.mu.Lock()
	at := p.next
	if now := time.Now(); at.Before(now) {
		at = now
	}
	p.next = at.Add(p.every)
	p.mu.Unlock()
	return sleepUntil(ctx, at)
}

// hold lets none go for a while, on whose behalf nobody has taken already.
func (p *pace) hold(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(d); p.next.Before(until) {
		p.next = until
	}
}

// sleepUntil waits until a time; its error says that ctx has ended.
func sleepUntil(ctx context.Context, at time.Time) error {
	d := time.Until(at)
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
