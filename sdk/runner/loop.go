package runner

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/heddle-run/heddle/shared/frames"

	core "github.com/heddle-run/heddle/internal/runner"
)

// loop owns the session of a Run: everything that happens to it happens in run's goroutine.
type loop struct {
	runner  *Runner
	options *Options
	log     *slog.Logger
	session *core.Session
	dialer  *dialer

	in     chan func()   // what has happened
	done   chan struct{} // closed when run hears nothing any more
	over   bool
	err    error
	socket *socket // nil: there is none
	last   *socket // that was wanted

	attempts map[string]*attempt
	group    sync.WaitGroup // of the attempts' functions
	answers  map[uint64]chan<- core.Answer
	visits   map[string]*visit // requests of clients to attempts
	told     *callbacks
}

func newLoop(r *Runner, init frames.ToServerInit) (*loop, error) {
	d, err := newDialer(&r.options)
	if err != nil {
		return nil, err
	}
	return &loop{
		runner: r, options: &r.options, log: r.options.Logger, dialer: d,
		session: core.New(core.Config{Init: init, Times: r.options.Times.core(), Random: rand.Float64}),
		in:      make(chan func()), done: make(chan struct{}),
		attempts: map[string]*attempt{}, answers: map[uint64]chan<- core.Answer{}, visits: map[string]*visit{},
		told: newCallbacks(),
	}, nil
}

// post hands something that has happened to the loop; false: it hears nothing any more.
func (l *loop) post(f func()) bool {
	select {
	case l.in <- f:
		return true
	case <-l.done:
		return false
	}
}

func (l *loop) run(ctx context.Context) error {
	o := l.options
	l.log.Info("the runner connects", "url", o.URL, "pool", o.Pool, "key", o.Key, "name", o.Name, "slots", o.Slots)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	l.session.Begin(time.Now())
	stopping, stop := ctx.Done(), l.runner.stop
	for l.perform(); !l.over; l.perform() {
		timer.Reset(l.wait())
		select {
		case happened := <-l.in:
			happened()
		case <-timer.C:
		case <-stopping:
			l.session.Stop(time.Now())
			stopping = nil
		case <-stop:
			l.session.StopNow(time.Now())
		}
		l.session.Wake(time.Now())
	}
	l.leave()
	return l.err
}

// wait is how long nothing is due.
func (l *loop) wait() time.Duration {
	next := l.session.Next()
	if next.IsZero() {
		return time.Hour
	}
	return max(0, time.Until(next))
}

// leave ends what belongs to the loop. The contexts of all attempts have ended.
func (l *loop) leave() {
	close(l.done)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		l.group.Wait()
		if l.last != nil {
			<-l.last.gone
		}
	}()
	timer := time.NewTimer(l.options.Times.Leave)
	defer timer.Stop()
	select {
	case <-gone:
	case <-timer.C:
		l.log.Warn("the runner does not wait any longer for functions whose contexts have ended, and for its socket")
	}
	l.dialer.close()
	if l.options.OnShutdown != nil {
		l.told.call(l.options.OnShutdown)
	}
	l.told.close()
}

// perform does what the session wants.
func (l *loop) perform() {
	for _, a := range l.session.Take() {
		switch a := a.(type) {
		case core.Dial:
			l.dial()
		case core.Send:
			l.send(a.Frame)
		case core.Hangup:
			l.hangup(a.Close)
		case core.Start:
			l.start(a.Task)
		case core.Halt:
			l.halt(a)
		case core.Leave:
			l.leaving(a.Token)
		case core.Answer:
			l.answer(a)
		case core.Serve:
			l.serve(a)
		case core.Room:
			l.room(a.Request)
		case core.Gone:
			l.gone(a)
		default:
			l.tell(a)
		}
	}
}

// tell makes known what has become of the session.
func (l *loop) tell(a core.Action) {
	o := l.options
	switch a := a.(type) {
	case core.Connected:
		l.log.Info("the runner is connected", "runner", a.RunnerID, "again", a.Again)
		if o.OnConnected != nil {
			l.told.call(func() { o.OnConnected(a.RunnerID) })
		}
	case core.Disconnected:
		l.log.Info("the runner has lost its connection", "reason", a.Close.Reason, "code", a.Close.Code)
		if o.OnDisconnected != nil {
			l.told.call(func() { o.OnDisconnected(a.Close.Reason) })
		}
	case core.Warn:
		l.log.Warn(a.Text, "count", a.Count)
	case core.Over:
		l.over, l.err = true, a.Err
		l.log.Info("the runner has stopped", "error", a.Err)
	}
}

// callbacks are calls into the program, one after another, which no socket waits for.
type callbacks struct {
	calls chan func()
	done  chan struct{}
}

func newCallbacks() *callbacks {
	const waiting = 64 // calls of a program that does not return; the next one waits
	c := &callbacks{make(chan func(), waiting), make(chan struct{})}
	go func() {
		defer close(c.done)
		for f := range c.calls {
			f()
		}
	}()
	return c
}

func (c *callbacks) call(f func()) { c.calls <- f }

func (c *callbacks) close() {
	close(c.calls)
	<-c.done
}
