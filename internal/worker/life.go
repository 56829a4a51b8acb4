package worker

import (
	"context"
	"sync"
	"time"
)

// life is the context of an attempt. Most handlers never look at theirs, so the
// standard context behind it, with its channel and its timer, is made when
// somebody first asks: whatever can be asked of it is asked of that one.
type life struct {
	base context.Context
	end  time.Time // its deadline; zero: none

	mu      sync.Mutex
	over    bool            // the attempt has left its slot
	made    context.Context // nil: nobody has asked
	cancel  context.CancelCauseFunc
	release context.CancelFunc // of the deadline; nil without one
}

// begin gives the life its length, before anybody can ask.
func (l *life) begin(base context.Context, end time.Time) { l.base, l.end = base, end }

// Deadline implements context.Context.
func (l *life) Deadline() (time.Time, bool) { return l.context().Deadline() }

// Done implements context.Context.
func (l *life) Done() <-chan struct{} { return l.context().Done() }

// Err implements context.Context.
func (l *life) Err() error { return l.context().Err() }

// Value implements context.Context. The standard library asks with keys of its
// own for the cause and for what ends with us, so any key is an occasion.
func (l *life) Value(key any) any { return l.context().Value(key) }

func (l *life) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.standard()
}

// standard is the context behind, made as it would be by now had it been there
// from the start. The caller holds mu.
func (l *life) standard() context.Context {
	if l.made != nil {
		return l.made
	}
	l.made, l.cancel = context.WithCancelCause(l.base)
	if l.over {
		l.cancel(nil)
	}
	if !l.end.IsZero() {
		l.made, l.release = context.WithDeadlineCause(l.made, l.end, ErrTimeout)
	}
	return l.made
}

// ended reports whether the context has ended by now.
func (l *life) ended(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil && !l.over && (l.end.IsZero() || now.Before(l.end)) {
		return false
	}
	return l.standard().Err() != nil
}

// stop ends the context with a cause; one that has ended keeps its own.
func (l *life) stop(cause error) {
	l.mu.Lock()
	l.standard()
	cancel := l.cancel
	l.mu.Unlock()
	cancel(cause) // asks those who wait, who may ask us
}

// leave frees what the context holds: the attempt has left its slot.
func (l *life) leave() {
	l.mu.Lock()
	l.over = true
	cancel, release := l.cancel, l.release
	l.mu.Unlock()
	if cancel != nil {
		cancel(nil)
	}
	if release != nil {
		release()
	}
}
