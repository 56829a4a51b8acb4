package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Func runs one service. It calls ready once, when the service can be used, and
// returns when ctx has ended and everything it started has too. Nil before ctx
// has ended means that its work is done; the group goes on without it.
type Func func(ctx context.Context, ready func()) error

// Group runs services. The zero value is ready; it is run once.
type Group struct {
	Logger      *slog.Logger  // nil: silent
	StopTimeout time.Duration // how long one member may take to stop; 0: a minute

	members []*member
}

type member struct {
	name   string
	run    Func
	cancel context.CancelFunc
	ready  chan struct{}
	done   chan struct{}
	err    error // valid once done is closed
}

// Add appends a member. It must not be called after Run.
func (g *Group) Add(name string, run Func) {
	g.members = append(g.members, &member{name: name, run: run})
}

// AddCloser appends a member that does nothing but close c when the group stops.
func (g *Group) AddCloser(name string, c io.Closer) {
	g.Add(name, func(ctx context.Context, ready func()) error {
		ready()
		<-ctx.Done()
		return c.Close()
	})
}

// Run starts all members, calls ready (which may be nil) when all of them are,
// waits until ctx ends or a member fails, and stops them. The error is the
// members' own, joined; nil when all ended well.
func (g *Group) Run(ctx context.Context, ready func()) error {
	ctx, fail := context.WithCancel(ctx)
	defer fail()
	var started []*member
	for _, m := range g.members {
		if ctx.Err() != nil {
			break
		}
		g.start(ctx, m, fail)
		started = append(started, m)
		select {
		case <-m.ready:
		case <-m.done:
		case <-ctx.Done():
		}
	}
	if ctx.Err() == nil && ready != nil {
		ready()
	}
	<-ctx.Done()
	return g.stop(started)
}

// start runs m under a context of its own, so that the end of the group's
// context stops members one after the other.
func (g *Group) start(ctx context.Context, m *member, fail func()) {
	m.ready, m.done = make(chan struct{}), make(chan struct{})
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m.cancel = cancel
	began := time.Now()
	go func() {
		defer close(m.done)
		m.err = m.run(own, onceReady(m.ready, func() {
			g.logger().Info("service is ready", "service", m.name, "took", time.Since(began).Round(time.Millisecond))
		}))
		if m.err != nil && own.Err() == nil {
			g.logger().Error("service failed", "service", m.name, "error", m.err)
			fail()
		}
	}()
}

func onceReady(ch chan struct{}, then func()) func() {
	return func() {
		select {
		case <-ch:
		default:
			close(ch)
			then()
		}
	}
}

func (g *Group) stop(started []*member) error {
	var errs []error
	for i := len(started) - 1; i >= 0; i-- {
		m := started[i]
		m.cancel()
		timer := time.NewTimer(g.stopTimeout())
		select {
		case <-m.done:
			if m.err != nil && !errors.Is(m.err, context.Canceled) {
				errs = append(errs, fmt.Errorf("%s: %w", m.name, m.err))
			}
			g.logger().Info("service stopped", "service", m.name)
		case <-timer.C:
			errs = append(errs, fmt.Errorf("%s: did not stop within %s", m.name, g.stopTimeout()))
		}
		timer.Stop()
	}
	return errors.Join(errs...)
}

func (g *Group) stopTimeout() time.Duration {
	if g.StopTimeout > 0 {
		return g.StopTimeout
	}
	return time.Minute
}

func (g *Group) logger() *slog.Logger {
	if g.Logger != nil {
		return g.Logger
	}
	return slog.New(slog.DiscardHandler)
}
