package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	core "github.com/heddle-run/heddle/internal/runner"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

// runnerTimes are how long things take at runners: about a third of what they take by default.
var runnerTimes = core.Times{
	Ping: 2500 * time.Millisecond, AckCommands: 3 * time.Second, FirstReconnect: 200 * time.Millisecond, LastReconnect: 2 * time.Second,
	Init: 6 * time.Second, Silence: pingTime, Lost: 5 * time.Second, Drain: 8 * time.Second, DrainLook: 500 * time.Millisecond,
	Acks: time.Second, Heartbeat: 300 * time.Millisecond,
}

// runner is a process that offers slots to a pool: the protocol code of runners (package internal/runner) as it is, and a
// model of what is around it. It has no goroutine of its own.
type runner struct {
	g      *pooling
	slot   int
	name   string // of the process start
	pool   string // name
	key    string
	s      *core.Session
	does   *worker // decides how attempts go, as those of workers do
	frozen bool

	dials bool    // it wants a socket
	sock  *socket // nil: it has none, as far as it knows
	open  []*execution
}

func (g *pooling) startRunner(slot int) {
	w := g.w
	r := &runner{g: g, slot: slot, name: g.started("r"), pool: g.of[slot], key: fmt.Sprintf("key-%d", slot)}
	r.does = &worker{w: w, name: r.name}
	r.s = core.New(core.Config{
		Init: frames.ToServerInit{
			Name: r.name, Version: uint32(1 + g.rng.IntN(2)), TotalSlots: uint32(1 + g.rng.IntN(3)), Instance: r.name,
			PrepopulateTaskNames: []wire.Pair{{Key: "work", Value: json.RawMessage(`{"of":"the plan"}`)}}, Metadata: json.RawMessage(`{"slot":1}`),
		},
		Times: runnerTimes, Random: func() float64 { return 0.5 },
	})
	g.runners[slot] = r
	w.tell(w.workflow(events.PoolOf(r.pool)), "  runner %s starts, as %s of %s", r.name, r.key, r.pool)
	r.s.Begin(time.Now())
	r.perform()
}

// moves adds what a runner could do now. The cluster's lock is held.
func (r *runner) moves(all []move, now time.Time) []move {
	id := events.PoolOf(r.pool)
	add := func(what string, noise bool, do func()) {
		all = append(all, move{what: func() string { return r.name + " " + what }, workflow: id, noise: noise, do: do})
	}
	if r.dials {
		if r.g.someExecutor(r.g.w.rng) != nil {
			add("connects", false, r.connect)
		}
	}
	if s := r.sock; s != nil && !s.cut && len(s.toRunner) > 0 {
		add("reads from "+s.x.name, true, r.read)
	}
	if next := r.s.Next(); !next.IsZero() && !now.Before(next) {
		add("wakes", true, func() { r.s.Wake(time.Now()); r.perform() })
	}
	for _, e := range r.open {
		switch {
		case !e.ends.IsZero() && !now.Before(e.ends), e.ends.IsZero() && r.g.w.unknown(e, now):
			all = append(all, move{what: func() string { return r.name + " ends " + e.String() }, workflow: e.workflow, do: func() { r.ends(e) }})
		case e.busy && now.Sub(e.said) >= e.every():
			all = append(all, move{what: func() string { return r.name + " says how far " + e.String() + " is" }, workflow: e.workflow, do: func() { r.beat(e) }})
		}
	}
	return all
}

// connect opens a socket to some executor.
func (r *runner) connect() {
	x := r.g.someExecutor(r.g.w.rng)
	r.dials, r.sock = false, x.open(r)
	r.s.Opened(time.Now())
	r.perform()
}

// read reads one frame, or some.
func (r *runner) read() {
	for n := 1 + r.g.w.rng.IntN(4); n > 0 && r.sock != nil && len(r.sock.toRunner) > 0; n-- {
		next := r.sock.toRunner[0]
		r.sock.toRunner = r.sock.toRunner[1:]
		now := time.Now()
		switch {
		case next.broken:
			r.sock = nil
			r.s.Broken(now, frames.Close{})
		case next.close != nil:
			r.sock = nil
			r.s.Broken(now, *next.close)
		default:
			r.s.Received(now, next.frame)
		}
		r.perform()
	}
}

// perform does what the session wants.
func (r *runner) perform() {
	for all := r.s.Take(); len(all) > 0; all = r.s.Take() {
		for _, a := range all {
			r.do(a)
		}
	}
}

func (r *runner) do(a core.Action) {
	switch a := a.(type) {
	case core.Dial:
		r.dials = true
	case core.Send:
		if r.sock != nil {
			r.sock.toExecutor = append(r.sock.toExecutor, toExecutor{frame: a.Frame})
		}
	case core.Hangup:
		r.hangUp(fmt.Sprintf("the runner closed it: %d %s", a.Close.Code, a.Close.Reason))
		r.dials = false
	case core.Start:
		r.begins(a.Task)
	case core.Halt:
		r.halt(a)
	case core.Over:
		r.over(a.Err)
	}
}

// hangUp ends its side of the socket.
func (r *runner) hangUp(why string) {
	if r.sock != nil {
		r.sock.toExecutor = append(r.sock.toExecutor, toExecutor{ended: why})
		r.sock = nil
	}
}

// over ends the process. Who looks after it starts another one.
func (r *runner) over(err error) {
	w := r.g.w
	w.tell(w.workflow(events.PoolOf(r.pool)), "  %s is over: %v", r.name, err)
	if r.g.runners[r.slot] == r {
		r.g.runners[r.slot] = nil
		r.g.runnerAgain(r.slot, time.Second)
	}
}

// runnerAgain starts another process in a slot some time later.
func (g *pooling) runnerAgain(slot int, after time.Duration) {
	g.w.at(after, "a runner starts again", func() {
		if g.runners[slot] == nil {
			g.startRunner(slot)
		}
	})
}

// begins begins an attempt.
func (r *runner) begins(t *frames.StartTask) {
	w := r.g.w
	sealed, err := events.ParseTokenText(t.Token)
	if err != nil {
		w.fail("%s is told to begin an attempt without a token: %w", r.name, err)
		return
	}
	r.g.beginsOnce(t.Workflow, t.Token, r)
	task := &events.Task{
		Token: sealed, Task: t.Task, Component: t.Component, Attempt: t.Attempt, Input: t.Input, Context: t.Context, Deadline: t.Deadline,
		IdempotencyKey: t.IdempotencyKey, TraceParent: t.TraceParent, Heartbeat: t.Heartbeat, Timeout: t.Timeout, Silence: t.HeartbeatTimeout,
	}
	w.published(&kgo.Record{Key: []byte(t.Workflow)}, task)
	now := time.Now()
	e := &execution{workflow: t.Workflow, task: task, began: now, last: now, said: now}
	w.tell(w.workflow(e.workflow), "  %s begins %s", r.name, e)
	r.open = append(r.open, e)
	r.does.begin(e)
}

// halt ends an attempt, which may have ended by itself all the same.
func (r *runner) halt(a core.Halt) {
	for _, e := range r.open {
		if events.TokenText(e.task.Token) != a.Token || !e.ends.IsZero() && r.g.w.rng.IntN(4) == 0 {
			continue
		}
		o := e.how.(*events.TaskOutcome)
		o.Outcome, o.Result, o.Error, e.ends, e.busy = events.OutcomeFailed, nil, &events.TaskError{Type: string(a.Reason)}, time.Now(), false
	}
}

func (r *runner) ends(e *execution) {
	r.open = slices.DeleteFunc(r.open, func(other *execution) bool { return other == e })
	r.s.Ended(time.Now(), r.state(e))
	r.perform()
}

// state is how an attempt has ended, as a runner says it.
func (r *runner) state(e *execution) *frames.TaskState {
	o := e.how.(*events.TaskOutcome)
	t := &frames.TaskState{Token: events.TokenText(e.task.Token), State: frames.StateStopped}
	failed := func(kind string) { t.Error = &frames.TaskError{Type: kind, Message: "it has ended so"} }
	switch o.Outcome {
	case events.OutcomeCompleted:
		t.OK, t.Result = true, o.Result
		if e.ends.IsZero() { // it would hang for ever
			t.OK, t.Result = false, nil
			failed(events.ErrorCancelled)
		}
	case events.OutcomeFailed:
		t.Error = &frames.TaskError{
			Type: cmp.Or(o.Error.Type, events.ErrorTaskFailed), Message: o.Error.Message, NonRetryable: o.Error.NonRetryable, RetryAfter: o.Error.RetryAfterMs,
		}
	case events.OutcomeTimedOut:
		failed(events.ErrorTimeout)
	case events.OutcomeCancelled:
		failed(events.ErrorCancelled)
	default: // no runner hands back what it has begun
		failed(events.ErrorUnknownTask)
	}
	return t
}

// beat gives a heartbeat of an attempt that must.
func (r *runner) beat(e *execution) {
	e.last, e.said = time.Now(), time.Now()
	r.s.Beat(e.last, events.TokenText(e.task.Token), e.details())
	r.perform()
}
