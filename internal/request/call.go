package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// Call is a request that was sent. One goroutine waits on it; Close it.
type Call struct {
	ID string // of the command, or of the request

	client  *Client
	replyID string
	raw     chan []byte // replies, undecoded
	failed  chan error  // capacity 1: the record was not written, or the wait is over

	repeatable bool // the command's id is the caller's
	accepted   bool // a decision that is no refusal was told

	command Command // sent again under its id
	wait    string
}

// maxReplies is how many undecoded replies a request holds: decided and
// drained, and room for both to be sent again.
const maxReplies = 6

func (cl *Client) register(c *Call) (*Call, error) {
	c.client, c.raw, c.failed = cl, make(chan []byte, maxReplies), make(chan error, 1)
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if cl.closed {
		return nil, ErrClosed
	}
	if len(cl.waiting) >= cl.maxWaiting {
		return nil, fmt.Errorf("%w: the limit is %d", ErrBusy, cl.maxWaiting)
	}
	cl.waiting[c.replyID] = c
	return c, nil
}

// Close ends the wait: later replies are dropped.
func (c *Call) Close() {
	c.client.mu.Lock()
	delete(c.client.waiting, c.replyID)
	c.client.mu.Unlock()
}

// Next is the next reply. It returns ctx's error when ctx ends first.
func (c *Call) Next(ctx context.Context) (events.Reply, error) {
	b, err := c.next(ctx)
	if err != nil {
		return events.Reply{}, err
	}
	return decode(b)
}

func (c *Call) next(ctx context.Context) ([]byte, error) {
	select {
	case b := <-c.raw:
		return b, nil
	default:
	}
	select {
	case b := <-c.raw:
		return b, nil
	case err := <-c.failed:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// maxResendPause bounds the pause before a request is sent again.
const maxResendPause = 30 * time.Second

// Decided is the reply that says what became of the command. As a reply can be
// lost, the command is sent again now and then: under its id it is decided once,
// and its first answer comes again.
func (c *Call) Decided(ctx context.Context) (events.Reply, error) {
	for pause := c.client.resendAfter; ; pause = min(2*pause, maxResendPause) {
		some, cancel := context.WithTimeout(ctx, pause)
		r, err := c.Next(some)
		cancel()
		if ctx.Err() != nil || !late(err) {
			return r, err
		}
		c.resend(ctx)
	}
}

// resend sends the command again: under its id it is decided once, and its
// first answer comes again.
func (c *Call) resend(ctx context.Context) {
	c.client.produce(ctx, c, c.client.record(c.command, c.replyID, c.wait))
}

// late reports whether an error means that no reply has come in time, and not that
// Kafka did not take the request in time.
func late(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable)
}

func (c *Call) fail(err error) {
	select {
	case c.failed <- err:
	default:
	}
}

func decode(b []byte) (events.Reply, error) {
	var r events.Reply
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("decode a reply: %w", err)
	}
	return r, nil
}
