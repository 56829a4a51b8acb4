package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/adapter"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/events"
)

const queue = topics.DefaultQueue

// running is an executor whose network can be cut: for broker and planner it is dead then.
type running struct {
	t      *testing.T
	dial   kafka.Dialer
	cancel context.CancelFunc
	ended  chan struct{}
	err    error

	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

// start runs an executor with an adapter until the test or stop ends it.
func start(t *testing.T, p *workertest.Planner, a executor.Adapter) *running {
	t.Helper()
	r := &running{t: t, dial: p.Config.Dialer, ended: make(chan struct{})}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	h := adapter.New(adapter.Config{Adapter: a, Stopping: ctx.Done()})
	c := worker.Config{Kafka: p.Config, Name: "x", Channel: "test", DrainLimit: time.Minute, Pools: []worker.Pool{{
		Queues: []string{queue}, Slots: 8, Cancelled: h.Cancelled,
		Lookup: func(string) (worker.Handler, bool) { return h, true },
	}}}
	c.Kafka.Dialer = r.connect
	joined := make(chan struct{})
	c.Ready = func() { close(joined) }
	w, err := worker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	go func() { r.err = w.Run(ctx); close(r.ended) }()
	<-joined
	t.Cleanup(r.stop)
	return r
}

func (r *running) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	conn, err := r.dial(ctx, network, addr)
	if err == nil {
		r.conns = append(r.conns, conn)
	}
	return conn, err
}

// kill cuts the executor off for good: whatever it does behind that, nobody hears.
func (r *running) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dead = true
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

func (r *running) stop() {
	r.cancel()
	<-r.ended
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil && !r.dead {
		r.t.Errorf("the executor stopped with: %v", r.err)
	}
}

func inBubble(t *testing.T, fn func(t *testing.T, p *workertest.Planner, b *board)) {
	t.Helper()
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) { fn(t, p, newBoard()) })
}

// dispatch publishes an attempt, and the one that goes on with its work.
func dispatch(p *workertest.Planner, before *events.Task) *events.Task {
	a := p.Task("w", "jobs.render", map[string]int{"n": 1})
	if before != nil {
		a.Work, a.Attempt = before.Token, before.Attempt+1
		if len(before.Work) > 0 {
			a.Work = before.Work
		}
	}
	p.Dispatch(queue, 0, "w", a)
	return a
}

func outcome(t *testing.T, p *workertest.Planner, a *events.Task, want events.Outcome, result string) {
	t.Helper()
	o := p.Outcome(time.Minute)
	got := string(o.Result)
	if o.Error != nil {
		got = o.Error.Type
	}
	if string(o.Token) != string(a.Token) || o.Outcome != want || got != result {
		t.Errorf("the outcome is %v %s %+v, want %v %s", o.Outcome, got, o.Error, want, result)
	}
}

// What is accepted is guarded by heartbeats until its end, which is told once; where it is goes into the journal.
func TestAcceptedWorkIsGuardedUntilItsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
		start(t, p, b)
		a := dispatch(p, nil)
		if m, ok := p.Next(time.Second).(*events.TaskNotified); !ok || m.Detached {
			t.Fatalf("it is notified by %+v", m)
		}
		beats := 0
		var details json.RawMessage
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			switch m := p.Within(time.Until(end)).(type) {
			case *events.TaskHeartbeat:
				beats++
				if len(m.Details) > 0 {
					details = m.Details
				}
			case nil:
			default:
				t.Fatalf("%T is reported of what goes on", m)
			}
		}
		var note struct{ Work, Ref string }
		if err := json.Unmarshal(details, &note); err != nil || len(note.Work) != executor.KeySize || note.Ref != "id 0" {
			t.Errorf("its reference is told as %s: %v", details, err)
		}
		if beats < 11 {
			t.Errorf("%d heartbeats in a minute", beats)
		}
		b.end(done)
		outcome(t, p, a, events.OutcomeCompleted, `"done"`)
		if m := p.Within(time.Minute); m != nil {
			t.Errorf("%T is reported behind its end", m)
		}
		if works, cancelled, calls := b.count("Recover"); works != 1 || cancelled != 0 || calls > 80 {
			t.Errorf("%d works, %d cancelled, asked %d times", works, cancelled, calls)
		}
	})
}

func TestEndsOfWorks(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  executor.State
		want   events.Outcome
		result string
	}{
		{"done", done, events.OutcomeCompleted, `"done"`},
		{"done without a result", executor.Completed(nil), events.OutcomeCompleted, "null"},
		{"failed", executor.Failed(errors.New("no")), events.OutcomeFailed, "error"},
		{"failed with a type", executor.Failed(&task.Error{Type: "broken", NonRetryable: true}), events.OutcomeFailed, "broken"},
		{"unknown", executor.Unknown(), events.OutcomeAbandoned, "lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
				start(t, p, b)
				a := dispatch(p, nil)
				p.Next(time.Second)
				b.end(c.state)
				outcome(t, p, a, c.want, c.result)
			})
		})
	}
}

// An executor that is killed, at whatever step, leaves a work that whoever gets the next attempt finds: it is begun once and
// its end is told once.
func TestAKilledExecutorLosesNoWork(t *testing.T) {
	for _, method := range []string{"Dispatch", "Recover"} {
		for _, when := range []string{"begin", "end"} {
			t.Run(method+" "+when, func(t *testing.T) {
				inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) { killedAt(t, p, b, method, when) })
			})
		}
	}
}

func killedAt(t *testing.T, p *workertest.Planner, b *board, method, when string) {
	var first *running
	over := make(chan struct{})
	hang := make(chan struct{})
	var died atomic.Bool
	b.at = func(m, w string) error {
		if m != method || w != when || !died.CompareAndSwap(false, true) {
			return nil
		}
		first.kill()
		close(over)
		<-hang // a dead process does nothing more
		return errors.New("dead")
	}
	first = start(t, p, b)
	a := dispatch(p, nil)
	<-over
	time.Sleep(time.Minute) // its group and the planner notice that it is gone
	start(t, p, b)
	if o, ok := p.Within(5 * time.Second).(*events.TaskOutcome); ok {
		t.Fatalf("an outcome is told of what goes on: %+v", o)
	}
	next := dispatch(p, a) // as the planner does with what was lost
	time.Sleep(time.Second)
	b.end(done)
	ends := map[string]int{}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if o, ok := p.Within(time.Until(end)).(*events.TaskOutcome); ok {
			ends[string(o.Token)]++
			if o.Outcome != events.OutcomeCompleted || string(o.Result) != `"done"` {
				t.Errorf("the outcome is %+v", o)
			}
		}
	}
	if works, cancelled, _ := b.count(""); works != 1 || cancelled != 0 {
		t.Errorf("%d works were begun, and %d cancelled", works, cancelled)
	}
	if ends[string(next.Token)] != 1 || ends[string(a.Token)] > 1 {
		t.Errorf("%d outcomes of the attempt that goes on, %d of the first", ends[string(next.Token)], ends[string(a.Token)])
	}
	close(hang)
}

// An executor that stops leaves what it has handed over to others at once, and ends nothing.
func TestAnExecutorThatStopsLeavesItsWorks(t *testing.T) {
	inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
		first := start(t, p, b)
		a := dispatch(p, nil)
		p.Next(time.Second)
		began := time.Now()
		first.stop()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v to stop", took)
		}
		outcome(t, p, a, events.OutcomeUnknownTask, "unknown_task")
		start(t, p, b)
		next := dispatch(p, a)
		b.end(done)
		outcome(t, p, next, events.OutcomeCompleted, `"done"`)
		if works, cancelled, _ := b.count(""); works != 1 || cancelled != 0 {
			t.Errorf("%d works were begun, and %d cancelled", works, cancelled)
		}
	})
}

// A note of the work is enough to find it, without another Dispatch; one of another work is none; and what the note's work is
// unknown by now is begun again, as the planner has decided.
func TestNotedWorkIsFound(t *testing.T) {
	inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
		first := start(t, p, b)
		a := dispatch(p, nil)
		var noted json.RawMessage
		for noted == nil {
			if m, ok := p.Next(time.Minute).(*events.TaskHeartbeat); ok {
				noted = m.Details
			}
		}
		first.kill()
		time.Sleep(time.Minute)
		start(t, p, b)
		for _, c := range []struct {
			note       json.RawMessage
			forget     bool
			dispatched int // more
		}{
			{noted, false, 0},
			{json.RawMessage(`{"work": "another", "ref": "id 7"}`), false, 1},
			{json.RawMessage(`{"page": 4}`), false, 1},
			{noted, true, 1},
		} {
			_, _, before := b.count("Dispatch")
			next := p.Task("w", "jobs.render", nil)
			next.Work, next.Heartbeat = a.Token, c.note
			if b.end(executor.Running()); c.forget {
				b.forget()
			}
			p.Dispatch(queue, 0, "w", next)
			time.Sleep(time.Second)
			b.end(done)
			outcome(t, p, next, events.OutcomeCompleted, `"done"`)
			if works, _, after := b.count("Dispatch"); after-before != c.dispatched || works != 1 {
				t.Errorf("%s: handed over %d times, %d works", c.note, after-before, works)
			}
		}
	})
}

// A cancelled attempt has its work cancelled: accepted, in the middle of being accepted, and with an answer that was lost.
func TestCancelEndsTheWork(t *testing.T) {
	for name, at := range map[string]func(method, when string) error{
		"accepted": nil,
		"the answer is lost": func(method, when string) error {
			if method == "Dispatch" && when == "end" {
				return errors.New("the connection was cut")
			}
			return nil
		},
		"it is not cancelled at once": func() func(method, when string) error {
			var times atomic.Int32
			return func(method, when string) error {
				if method == "Cancel" && when == "begin" && times.Add(1) < 5 {
					return errors.New("not yet")
				}
				return nil
			}
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
				b.at = at
				start(t, p, b)
				a := dispatch(p, nil)
				p.Next(time.Second)
				p.Cancel("w", a.Token, "not wanted")
				outcome(t, p, a, events.OutcomeCancelled, "cancelled")
				if works, cancelled, _ := b.count(""); works != 1 || cancelled != 1 {
					t.Errorf("%d works, %d cancelled", works, cancelled)
				}
			})
		})
	}
}

// What was handed over by an executor that is dead is cancelled by the next one, also when that was asked while none was
// there.
func TestWorkOfADeadExecutorIsCancelled(t *testing.T) {
	inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
		first := start(t, p, b)
		a := dispatch(p, nil)
		p.Next(time.Second)
		first.kill()
		time.Sleep(time.Hour)
		p.Cancel("w", a.Token, "not wanted")
		time.Sleep(time.Hour)
		if _, cancelled, _ := b.count(""); cancelled != 0 {
			t.Error("a dead executor has cancelled a work")
		}
		start(t, p, b)
		time.Sleep(time.Second)
		synctest.Wait()
		if _, cancelled, _ := b.count(""); cancelled != 1 {
			t.Error("its work is not cancelled")
		}
	})
}

// The end of an attempt's time ends its work, and is reported as that.
func TestTheEndOfItsTimeEndsTheWork(t *testing.T) {
	inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
		start(t, p, b)
		a := p.Task("w", "jobs.render", nil)
		a.Timeout = 1500
		p.Dispatch(queue, 0, "w", a)
		outcome(t, p, a, events.OutcomeTimedOut, "timeout")
		if works, cancelled, _ := b.count(""); works != 1 || cancelled != 1 {
			t.Errorf("%d works, %d cancelled", works, cancelled)
		}
	})
}
