package runner

import (
	"context"
	"errors"
	"net/http"

	"github.com/heddle-run/heddle/internal/tunnel"
	"github.com/heddle-run/heddle/shared/frames"

	core "github.com/heddle-run/heddle/internal/runner"
)

// Errors of Serve.
var (
	ErrNoTunnel = errors.New("only the context of a task's function that a runner has called has a tunnel")
	ErrServed   = errors.New("the attempt serves requests already")
)

// Serve has h answer the requests that clients of the gateway send to the attempt whose function has the context, under
// /v1/workflows/WORKFLOW/tasks/TOKEN/tunnel/, until that function returns. It does not wait. The path of a request begins behind "tunnel". A
// request that comes before Serve is called waits for it.
//
// A WebSocket is a request that is upgraded, by any library that does so. Requests survive broken sockets of the runner: what is said
// meanwhile waits, within bounds, and a writer waits where its reader is slow. The context of a request has the values of ctx; it ends
// when the client has gone, or the attempt has ended.
func Serve(ctx context.Context, h http.Handler) error {
	a, ok := ctx.Value(attemptKey{}).(*attempt)
	if !ok {
		return ErrNoTunnel
	}
	s := newSite(context.WithoutCancel(ctx), a, h)
	served := make(chan error, 1)
	if !a.loop.post(func() { served <- a.loop.opens(s) }) {
		s.close()
		return core.ErrOver
	}
	err := <-served
	if err != nil {
		s.close()
	}
	return err
}

// visit is a request of a client to an attempt.
type visit struct {
	loop    *loop
	id      string
	attempt *attempt
	in      chan frames.TunnelMessage // as many as the core lets come
	room    chan struct{}             // has one if there may be room for another message
	ctx     context.Context           // until the request is over
	end     context.CancelCauseFunc
}

// opens lets a site serve its attempt, and what has waited for it.
func (l *loop) opens(s *site) error {
	a := s.attempt
	switch {
	case l.attempts[a.task.Token] != a:
		return errEnded
	case a.site != nil:
		return ErrServed
	}
	a.site = s
	for _, v := range l.visits { // order: each has a goroutine of its own
		if v.attempt == a {
			s.serve(v)
		}
	}
	return nil
}

// serve hands a message of a request over; the first one begins it.
func (l *loop) serve(m core.Serve) {
	v := l.visits[m.Request]
	if v == nil && !begins(m.Message) {
		return // its handler has answered without it
	}
	if v == nil {
		v = &visit{loop: l, id: m.Request, attempt: l.attempts[m.Token], in: make(chan frames.TunnelMessage, frames.TunnelMessages+2), room: make(chan struct{}, 1)}
		v.ctx, v.end = context.WithCancelCause(context.Background())
		l.visits[m.Request] = v
		if s := v.attempt.site; s != nil {
			s.serve(v)
		}
	}
	v.in <- m.Message // has room: the core keeps to the window
}

func begins(m frames.TunnelMessage) bool {
	switch m.(type) {
	case *frames.RequestStart, *frames.WebSocketOpen:
		return true
	}
	return false
}

func (l *loop) room(id string) {
	if v := l.visits[id]; v != nil {
		select {
		case v.room <- struct{}{}:
		default:
		}
	}
}

// gone ends a request before its end.
func (l *loop) gone(m core.Gone) {
	if v := l.visits[m.Request]; v != nil {
		v.end(&tunnel.AbortedError{Reason: m.Reason})
		delete(l.visits, m.Request)
	}
}

// Next is the next message of the client.
func (v *visit) Next(ctx context.Context) (frames.TunnelMessage, error) {
	select {
	case m := <-v.in:
		v.loop.post(func() { v.loop.session.Took(v.loop.now(), v.id) })
		return m, nil
	case <-v.ctx.Done():
		return nil, context.Cause(v.ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Send sends a message of the answer once there is room.
func (v *visit) Send(ctx context.Context, m frames.TunnelMessage) error {
	type result struct{ sent, open bool }
	for {
		done := make(chan result, 1)
		if !v.loop.post(func() {
			sent, open := v.loop.session.Reply(v.loop.now(), v.id, m)
			done <- result{sent, open}
		}) {
			return core.ErrOver
		}
		switch r := <-done; {
		case r.sent:
			return nil
		case !r.open:
			return errors.Join(core.ErrOver, context.Cause(v.ctx))
		}
		select {
		case <-v.room:
		case <-v.ctx.Done():
			return context.Cause(v.ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// over ends a request whose answer has been sent, or never will be: err says why.
func (v *visit) over(err error) {
	v.end(err)
	v.loop.post(func() {
		if err != nil {
			v.loop.session.Refuse(v.loop.now(), v.id, err.Error())
		}
		delete(v.loop.visits, v.id)
	})
}
