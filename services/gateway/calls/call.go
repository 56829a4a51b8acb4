package calls

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/tunnel"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// Call is one request to an attempt. One goroutine sends, one reads; End or Abort it.
type Call struct {
	calls *Calls
	find  Find
	id    string

	mu   sync.Mutex
	core *tunnel.Caller
	err  error // of the end

	in   chan frames.TunnelMessage // as many as the core lets come
	room chan struct{}             // has one if there may be room
	over chan struct{}             // closed at the end
}

// Call begins a request to an attempt that is at a place. find says where it is later.
func (c *Calls) Call(at tunnel.Place, find Find, first frames.TunnelMessage) (*Call, error) {
	one := &Call{
		calls: c, find: find, id: events.TunnelRequest(c.address, rand.Text()),
		in: make(chan frames.TunnelMessage, frames.TunnelMessages+2), room: make(chan struct{}, 1), over: make(chan struct{}),
	}
	c.mu.Lock()
	switch {
	case c.closed:
		c.mu.Unlock()
		return nil, ErrClosed
	case len(c.open) >= c.options.Most:
		c.mu.Unlock()
		return nil, ErrBusy
	}
	one.core = tunnel.Call(one.id, time.Now(), c.options.Times, at, first)
	c.open[one.id] = one
	c.mu.Unlock()
	one.turn(func(time.Time) {})
	return one, nil
}

// turn hands something that has happened to the core, and does what it wants.
func (c *Call) turn(happened func(now time.Time)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	happened(time.Now())
	for _, a := range c.core.Take() {
		switch a := a.(type) {
		case tunnel.Relay:
			c.calls.send(a.To, a.Message, c.sent)
		case tunnel.Ask:
			go c.ask()
		case tunnel.Deliver:
			c.in <- a.Message // has room: the core keeps to the window
		case tunnel.Room:
			select {
			case c.room <- struct{}{}:
			default:
			}
		case tunnel.Over:
			c.end(a.Err)
		}
	}
}

// sent hears what became of a message. One that is refused leaves a gap that only its sender knows of: the call ends.
func (c *Call) sent(err error) {
	if err != nil {
		go c.abort(errors.Join(ErrUnavailable, err))
	}
}

// end is the end. The caller holds c.mu.
func (c *Call) end(err error) {
	if c.err == nil {
		c.err = err
	}
	c.calls.mu.Lock()
	delete(c.calls.open, c.id)
	c.calls.mu.Unlock()
	close(c.over)
}

// askTimeout bounds one question where an attempt is.
const askTimeout = 5 * time.Second

func (c *Call) ask() {
	ctx, cancel := context.WithTimeout(c.calls.living, askTimeout)
	defer cancel()
	at, err := c.find(ctx)
	if errors.Is(err, tunnel.ErrEnded) {
		at, err = tunnel.Place{}, nil
	}
	c.turn(func(now time.Time) { c.core.Found(now, at, err) })
}

func (c *Call) due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.core.Next()
	return !next.IsZero() && !time.Now().Before(next)
}

// why is why the call is over.
func (c *Call) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		return context.Canceled
	}
	return c.err
}

// Next is the next message of the attempt. It fails when the call is over, or ctx ends.
func (c *Call) Next(ctx context.Context) (frames.TunnelMessage, error) {
	select {
	case m := <-c.in:
		return c.took(m), nil
	default:
	}
	select {
	case m := <-c.in:
		return c.took(m), nil
	case <-c.over:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select { // what was delivered before the end
	case m := <-c.in:
		return c.took(m), nil
	default:
		return nil, c.why()
	}
}

func (c *Call) took(m frames.TunnelMessage) frames.TunnelMessage {
	c.turn(func(now time.Time) { c.core.Took(now) })
	return m
}

// Send sends a message once there is room. It fails when the call is over, or ctx ends.
func (c *Call) Send(ctx context.Context, m frames.TunnelMessage) error {
	for {
		sent, open := false, false
		c.turn(func(now time.Time) {
			if sent = tunnel.Ends(m) || c.core.Room(frames.Size(m)); sent {
				open = c.core.Send(now, m)
			}
		})
		switch {
		case sent && open:
			return nil
		case sent:
			return c.why()
		}
		select {
		case <-c.room:
		case <-c.over:
			return c.why()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// End is the end of a call whose answer has ended, or that is over.
func (c *Call) End() { c.turn(func(now time.Time) { c.core.End(now) }) }

// Abort ends a call before its end.
func (c *Call) Abort(reason string) { c.turn(func(now time.Time) { c.core.Abort(now, reason) }) }

// abort is Abort for an error.
func (c *Call) abort(err error) {
	c.turn(func(now time.Time) {
		if c.err == nil {
			c.err = err
		}
		c.core.Abort(now, err.Error())
	})
}
