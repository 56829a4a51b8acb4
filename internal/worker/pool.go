package worker

import (
	"slices"
	"sync"
	"sync/atomic"
)

// pool is the slots of some queues. Each slot is a goroutine. A slot that ends
// an attempt takes the next one itself; those that wait are woken one after the
// other, and only while there is more to take than the ones awake have taken.
type pool struct {
	Pool
	worker *Worker
	slots  sync.WaitGroup
	busy   atomic.Int64

	mu     sync.Mutex
	offers []*offer        // with attempts, in the order of their turns
	idle   []chan struct{} // slots that wait, the last one first; each is sent one signal
	waking bool            // one was woken and has not looked yet
	closed bool            // nothing is offered any more
}

// offer is what a consumer has taken and no slot has begun: it may be withdrawn.
// A consumer has one, which is empty or offered.
type offer struct {
	attempts []*Attempt
	taken    chan struct{} // signalled when slots have taken all of them
}

func newOffer() *offer { return &offer{taken: make(chan struct{}, 1)} }

func newPool(t *Worker, p Pool) *pool { return &pool{Pool: p, worker: t} }

// full reports whether every slot runs an attempt.
func (p *pool) full() bool { return int(p.busy.Load()) >= p.Slots }

// offer lets slots take the attempts (some), in turns with other offers. The
// slice is the pool's until they have taken all of them or it is withdrawn.
func (p *pool) offer(o *offer, attempts []*Attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o.attempts = attempts
	p.offers = append(p.offers, o)
	p.wake()
}

// withdraw ends an offer and returns what no slot has taken.
func (p *pool) withdraw(o *offer) []*Attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.offers, o); i >= 0 {
		p.offers = slices.Delete(p.offers, i, i+1)
	}
	return o.attempts
}

// close lets the slots end when they have run what they took.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, slot := range p.idle {
		signal(slot)
	}
	p.idle = nil
}

// slot runs attempts until there is no more work. A task that ends the
// goroutine (runtime.Goexit) ends its attempt, and another one takes the slot.
func (p *pool) slot() {
	over := false
	defer func() {
		if !over {
			p.slots.Go(p.slot)
		}
	}()
	woken := make(chan struct{}, 1)
	for a := p.next(woken); a != nil; a = p.next(woken) {
		p.worker.execute(a)
	}
	over = true
}

// next waits for an attempt; nil when the pool is closed. woken is the slot's.
func (p *pool) next(woken chan struct{}) *Attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.offers) == 0 {
		if p.closed {
			return nil
		}
		p.idle = append(p.idle, woken)
		p.mu.Unlock()
		<-woken
		p.mu.Lock()
		p.waking = false
	}
	a := p.take()
	p.wake()
	return a
}

// take takes the next attempt; the caller holds mu and there is one.
func (p *pool) take() *Attempt {
	o := p.offers[0]
	a := o.attempts[0]
	o.attempts[0], o.attempts = nil, o.attempts[1:] // its room is used again
	copy(p.offers, p.offers[1:])
	last := len(p.offers) - 1
	p.offers[last] = o
	if len(o.attempts) == 0 {
		p.offers[last] = nil
		p.offers = p.offers[:last]
		signal(o.taken)
	}
	return a
}

// wake wakes one more slot when there is something to take; the caller holds mu.
// The one that is woken does the same, so that no attempt waits for the slot of
// another one while a slot is free.
func (p *pool) wake() {
	last := len(p.idle) - 1
	if p.waking || last < 0 || len(p.offers) == 0 {
		return
	}
	p.waking = true
	signal(p.idle[last])
	p.idle = p.idle[:last]
}
