package executor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
)

// Calls of the receivers of completion notices use the slots of all built-in tasks. A receiver that
// hangs would hold them all: so one receiver has a share, all together have another, and who waits for room in a
// share while nothing moves in it gives its slot back at once. Its planner tries again later, as after any failure.

// receiverPatience is how long a full share may let nobody in before those who wait for it are sent away.
const receiverPatience = time.Second

// receivers are the shares of the calls that are open. It is for many goroutines.
type receivers struct {
	mu   sync.Mutex
	all  share
	each map[string]*share // by host, while calls to it are open or wait
	most int               // calls to one host
}

// share is a bound of calls that are open at a time.
type share struct {
	most  int
	open  int
	users int           // that are open or wait
	moved time.Time     // since when nothing has moved in it: an answer came, or it was empty
	freed chan struct{} // closed when a call ends
}

// newReceivers gives an eighth of the slots to one receiver, and half of them to all.
func newReceivers(slots int) *receivers {
	return &receivers{
		most: max(1, slots/8), each: map[string]*share{},
		all: share{most: max(1, slots/2), freed: make(chan struct{})},
	}
}

// enter waits for room for a call to a host. The caller says with leave that the call has ended, and
// whether it got as far as that by itself, and was not cut off by its time.
func (r *receivers) enter(ctx context.Context, host string) (leave func(ended bool), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.each[host]
	if s == nil {
		s = &share{most: r.most, freed: make(chan struct{})}
		r.each[host] = s
	}
	s.users++
	for full := r.full(s); full != nil; full = r.full(s) {
		left := receiverPatience - time.Since(full.moved)
		if left <= 0 {
			err = &worker.TaskError{Type: events.ErrorReceiverBusy, Message: fmt.Sprintf("%d calls of receivers are open, %d of them to %s, and none of what is full has ended for %s", r.all.open, s.open, host, receiverPatience)}
		} else {
			err = r.wait(ctx, full.freed, left)
		}
		if err != nil {
			r.drop(host, s)
			return nil, err
		}
	}
	s.begin()
	r.all.begin()
	return func(ended bool) { r.leave(host, s, ended) }, nil
}

// full is a share that has no room for one more call to a host; nil: both have.
func (r *receivers) full(s *share) *share {
	switch {
	case s.open >= s.most:
		return s
	case r.all.open >= r.all.most:
		return &r.all
	}
	return nil
}

// wait waits with mu free until a call has ended, or so long.
func (r *receivers) wait(ctx context.Context, freed chan struct{}, most time.Duration) error {
	r.mu.Unlock()
	defer r.mu.Lock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-freed:
	case <-timer.C:
	case <-ctx.Done():
		return fmt.Errorf("the call did not begin: %w", context.Cause(ctx))
	}
	return nil
}

func (r *receivers) leave(host string, s *share, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.end(ended)
	r.all.end(ended)
	r.drop(host, s)
}

// drop forgets the share of a host that nobody uses.
func (r *receivers) drop(host string, s *share) {
	if s.users--; s.users == 0 {
		delete(r.each, host)
	}
}

func (s *share) begin() {
	if s.open == 0 {
		s.moved = time.Now()
	}
	s.open++
}

func (s *share) end(ended bool) {
	s.open--
	if ended {
		s.moved = time.Now()
	}
	close(s.freed)
	s.freed = make(chan struct{})
}
