package dev

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// unit is one service of the deployment: it is started, stopped and started
// again. Its methods may be called from any goroutine, one at a time.
type unit struct {
	name string
	run  func(ctx context.Context, ready func()) error

	mu     sync.Mutex
	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned
	ending bool          // somebody ends it
	err    error         // valid once done is closed
}

// ErrEnded is a service that has ended although nobody stopped it.
var ErrEnded = errors.New("it ended by itself")

// start runs the service and returns when it is ready. ended is called if it
// ends by itself later.
func (u *unit) start(ctx context.Context, ended func(error)) error {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ready, done := make(chan struct{}), make(chan struct{})
	var once sync.Once
	u.mu.Lock()
	u.cancel, u.done, u.ending, u.err = cancel, done, false, nil
	u.mu.Unlock()
	go func() {
		err := u.run(own, func() { once.Do(func() { close(ready) }) })
		if err == nil && own.Err() == nil {
			err = ErrEnded
		}
		if errors.Is(err, context.Canceled) && own.Err() != nil {
			err = nil
		}
		u.mu.Lock()
		u.err = err
		unexpected := !u.ending
		u.mu.Unlock()
		close(done)
		if unexpected {
			ended(fmt.Errorf("%s: %w", u.name, err))
		}
	}()
	select {
	case <-ready:
		return nil
	case <-done:
		u.end() // a stop would tell its error once more
		cancel()
		return fmt.Errorf("starting the %s: %w", u.name, u.result())
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("starting the %s: %w", u.name, ctx.Err()), u.stop())
	}
}

// stop asks the service to end and waits until it has. One that does not run is
// no error.
func (u *unit) stop() error {
	cancel, done := u.end()
	if cancel == nil {
		return nil
	}
	cancel()
	<-done
	if err := u.result(); err != nil && !errors.Is(err, ErrEnded) {
		return fmt.Errorf("stopping the %s: %w", u.name, err)
	}
	return nil
}

// kill ends the service by how, which its context outlives, and waits until it has
// ended. What it says of its end is of no interest.
func (u *unit) kill(how func() error) error {
	cancel, done := u.end()
	if cancel == nil {
		return fmt.Errorf("killing the %s: it does not run", u.name)
	}
	defer cancel()
	if err := how(); err != nil {
		cancel()
		<-done
		return fmt.Errorf("killing the %s: %w", u.name, err)
	}
	<-done
	return nil
}

// end says that the service is ended by somebody. cancel is nil if it does not run.
func (u *unit) end() (cancel context.CancelFunc, done <-chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	cancel, done = u.cancel, u.done
	u.cancel = nil
	u.ending = true
	return cancel, done
}

func (u *unit) result() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}
