package executor

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/shared/events"
)

// entering is a call that wants to enter.
type entering struct {
	entered
	done bool
	came chan entered
}

// entered is what became of it.
type entered struct {
	leave func(bool)
	err   error
}

func enters(ctx context.Context, r *receivers, host string) *entering {
	e := &entering{came: make(chan entered, 1)}
	go func() {
		leave, err := r.enter(ctx, host)
		e.came <- entered{leave, err}
	}()
	e.look()
	return e
}

// look takes what has become of the call, once every goroutine waits for something.
func (e *entering) look() {
	synctest.Wait()
	select {
	case e.entered = <-e.came:
		e.done = true
	default:
	}
}

func (e *entering) is() string {
	e.look()
	busy, _ := errors.AsType[*worker.TaskError](e.err)
	switch {
	case !e.done:
		return "waits"
	case e.err == nil:
		return "in"
	case busy != nil && busy.Type == events.ErrorReceiverBusy && !busy.NonRetryable:
		return "busy"
	}
	return e.err.Error()
}

func (e *entering) want(t *testing.T, want string) {
	t.Helper()
	if got := e.is(); got != want {
		t.Errorf("the call is %q, want %q", got, want)
	}
}

// A receiver that moves lets all who wait in, one by one; one that hangs sends them away, and what comes
// behind them at once.
func TestOneReceiverHasItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceivers(16) // 2 for one, 8 for all
		a, b, c := enters(t.Context(), r, "h"), enters(t.Context(), r, "h"), enters(t.Context(), r, "h")
		a.want(t, "in")
		b.want(t, "in")
		c.want(t, "waits")
		time.Sleep(receiverPatience * 9 / 10)
		a.leave(true)
		c.want(t, "in")
		d := enters(t.Context(), r, "h")
		time.Sleep(receiverPatience * 9 / 10)
		d.want(t, "waits") // an answer came since
		time.Sleep(receiverPatience / 10)
		d.want(t, "busy")
		enters(t.Context(), r, "h").want(t, "busy")
		other := enters(t.Context(), r, "other")
		other.want(t, "in")
		b.leave(false) // its time was over: no answer, but room for one
		e := enters(t.Context(), r, "h")
		e.want(t, "in")
		enters(t.Context(), r, "h").want(t, "busy")
		ctx, cancel := context.WithCancelCause(t.Context())
		c.leave(true)
		enters(t.Context(), r, "h").leave(true)
		f := enters(t.Context(), r, "h")
		g := enters(ctx, r, "h")
		g.want(t, "waits")
		cancel(errors.New("drained"))
		g.want(t, "the call did not begin: drained")
		for _, call := range []*entering{e, f, other} {
			call.leave(true)
		}
		if len(r.each) > 0 || r.all.open > 0 {
			t.Errorf("at rest %d hosts are kept, and %d calls are open", len(r.each), r.all.open)
		}
	})
}

// Many receivers that hang hold the share of all, and no more.
func TestAllReceiversHaveTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceivers(8) // 1 for one, 4 for all
		var in []*entering
		for _, host := range []string{"a", "b", "c", "d"} {
			in = append(in, enters(t.Context(), r, host))
			in[len(in)-1].want(t, "in")
		}
		e := enters(t.Context(), r, "e")
		e.want(t, "waits")
		in[0].leave(true)
		e.want(t, "in")
		time.Sleep(receiverPatience)
		enters(t.Context(), r, "f").want(t, "busy")
		for _, call := range append(in[1:], e) {
			call.leave(false)
		}
		enters(t.Context(), r, "f").want(t, "in")
	})
}

// A receiver that hangs, and for which many notices wait, delays neither the notices for another one nor any
// other task by much, though the executor has fewer slots.
func TestAReceiverThatHangsDelaysNobodyElse(t *testing.T) {
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hanging.Close()
	defer close(release)
	var mu sync.Mutex
	took := 0
	good := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { mu.Lock(); took++; mu.Unlock() }))
	defer good.Close()

	p := workertest.New(t, brokertest.Start(t, topics.Options{Partitions: 2}))
	ctx, cancel := context.WithCancel(t.Context())
	joined, done := make(chan struct{}), make(chan error, 1)
	c := Config{Kafka: p.Config, Name: "x", Slots: 8, Test: true, HTTP: HTTPRules{AllowLoopback: true}, DrainLimit: time.Millisecond, Ready: func() { close(joined) }}
	go func() { done <- Run(ctx, c) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	<-joined

	call := func(id, url string) {
		task := p.Task(id, "http.request", map[string]any{"method": "POST", "url": url, "map": "input.status"})
		task.Timeout = time.Minute.Milliseconds()
		p.Dispatch("default", 0, id, task)
	}
	const many = 40
	for range many {
		call(events.NoticesOf("slow", events.RunID{Epoch: 1, Seq: 1}), hanging.URL)
	}
	call(events.NoticesOf("quick", events.RunID{Epoch: 1, Seq: 2}), good.URL)
	p.Dispatch("default", 0, "w", p.Task("w", "test.echo", 1))
	busy, completed := 0, 0
	for completed < 2 || busy < many-1 {
		o := p.Outcome(10 * time.Second)
		switch {
		case o.Outcome == events.OutcomeCompleted:
			completed++
		case o.Error != nil && o.Error.Type == events.ErrorReceiverBusy:
			busy++
		default:
			t.Fatalf("an outcome is %+v", o)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if took != 1 {
		t.Errorf("the other receiver was called %d times", took)
	}
}
