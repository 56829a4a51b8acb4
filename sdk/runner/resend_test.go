package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/frames"
)

// tokens are the attempts whose functions have begun, in order of their names.
func (p *program) tokens() []string {
	synctest.Wait()
	var all []string
	for len(p.begun) > 0 {
		all = append(all, <-p.begun)
	}
	slices.Sort(all)
	return all
}

// M02, M03: after a break the runner says what it has had, and what comes again is passed.
func TestM02(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		var all []frames.Command
		for i := range int64(8) {
			all = append(all, startOf(i, fmt.Sprint("t", i)))
		}
		socket.send(&frames.ToClientCommands{Commands: all[:5]})
		if began := p.tokens(); len(began) != 5 {
			t.Errorf("began %v", began)
		}
		socket.drop()
		socket, init := s.accept(runnerID, 4)
		if init.LastCommandIdx == nil || *init.LastCommandIdx != 4 {
			t.Errorf("it says %+v", init)
		}
		socket.send(&frames.ToClientCommands{Commands: all}) // the server does not know
		if began := p.tokens(); !slices.Equal(began, []string{"t5", "t6", "t7"}) {
			t.Errorf("began %v, want the new ones", began)
		}
		if ack := ackOf(t, socket); ack != 7 {
			t.Errorf("acknowledged %d with the resend", ack)
		}
	})
}

// ackOf is the next acknowledgement; events before it are passed.
func ackOf(t *testing.T, p *peer) int64 {
	t.Helper()
	for f := range p.frames {
		if ack, ok := f.(*frames.ToServerAckCommands); ok {
			return ack.LastCommandIdx
		}
	}
	t.Fatal("the socket has ended")
	return 0
}

// M06: one acknowledgement in 5 minutes, and none where no command came.
func TestM06(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		began := time.Now()
		pong := func(until time.Duration) (acks []int64) {
			for time.Since(began) < until {
				socket.send(&frames.ToClientPong{})
				time.Sleep(time.Second)
				synctest.Wait()
				for len(socket.frames) > 0 {
					if ack, ok := (<-socket.frames).(*frames.ToServerAckCommands); ok {
						acks = append(acks, ack.LastCommandIdx)
					}
				}
			}
			return acks
		}
		if acks := pong(301 * time.Second); len(acks) != 0 {
			t.Errorf("without a command: %v", acks)
		}
		socket.send(&frames.ToClientCommands{Commands: []frames.Command{startOf(0, "a"), startOf(1, "b")}})
		if acks := pong(599 * time.Second); len(acks) != 0 {
			t.Errorf("before the time: %v", acks)
		}
		if acks := pong(1000 * time.Second); !slices.Equal(acks, []int64{1}) {
			t.Errorf("acknowledged %v, want 1 once", acks)
		}
	})
}

// M09: a stop for an attempt that is not known is passed, and says nothing.
func TestM09(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		socket.send(stop(0, "nobody", frames.StopCancelled))
		silent(t, socket)
	})
}

func stop(index int64, token string, reason frames.StopReason) *frames.ToClientCommands {
	return &frames.ToClientCommands{Commands: []frames.Command{{Index: index, Inner: &frames.StopTask{Token: token, Reason: reason}}}}
}

func TestAStopEndsTheContextWithItsReason(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		for i, c := range []struct {
			reason frames.StopReason
			typ    string
		}{{frames.StopCancelled, "cancelled"}, {frames.StopTimedOut, "timeout"}, {frames.StopLost, "lost"}} {
			name := string(c.reason)
			socket.start(int64(2*i), name)
			state(t, socket)
			socket.send(stop(int64(2*i+1), name, c.reason))
			if _, e := state(t, socket); e.OK || e.Error == nil || e.Error.Type != c.typ {
				t.Errorf("%s ends as %+v", name, e.Error)
			}
		}
	})
}

// E06, E10: what was not applied is sent again after ToClientInit, as one message, with what has happened meanwhile.
func TestE06(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		for i := range int64(3) {
			socket.start(i, fmt.Sprint("t", i))
			state(t, socket)
		}
		socket.drop()
		p.end("t0") <- nil
		synctest.Wait()
		p.end("t1") <- nil
		socket, _ = s.accept(runnerID, 1)
		events := got[*frames.ToServerEvents](t, socket).Events
		if len(events) != 3 || events[0].Index != 2 || events[1].Index != 3 || events[2].Index != 4 {
			t.Fatalf("sent again: %+v, want 2, 3 and 4 as one", events)
		}
		if e, ok := events[1].Inner.(*frames.TaskState); !ok || e.Token != "t0" || !e.OK {
			t.Errorf("event 3 is %+v", events[1].Inner)
		}
		silent(t, socket)
		p.end("t2") <- nil
		if i, _ := state(t, socket); i != 5 {
			t.Errorf("the next event is %d", i)
		}
	})
}

// A process that has just started under a session that is alive goes on with its indexes.
func TestANewProcessGoesOnWithTheIndexesOfItsSession(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		run(t, s, nil)
		socket, init := s.accept(runnerID, 7)
		if init.LastCommandIdx != nil {
			t.Errorf("it says it had %d commands", *init.LastCommandIdx)
		}
		socket.start(12, "a")
		if i, _ := state(t, socket); i != 8 {
			t.Errorf("the first event is %d, want 8", i)
		}
	})
}

// A large history is sent in frames that the server takes.
func TestAResendFitsTheServersFrames(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, func(o *runner.Options) {
			o.Interceptors = []runner.Interceptor{func(runner.Handler) runner.Handler {
				return func(context.Context, json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`"` + strings.Repeat("x", 300_000) + `"`), nil
				}
			}}
		})
		socket, _ := s.accept(runnerID, -1)
		for i := range int64(10) {
			socket.start(i, fmt.Sprint("t", i))
		}
		p.tokens()
		socket.drop()
		socket, _ = s.accept(runnerID, -1)
		next := int64(0)
		for next < 20 {
			f := got[*frames.ToServerEvents](t, socket)
			if n := len(frames.EncodeToServer(s.mode, f)); n > frames.DefaultMaxPayload {
				t.Errorf("a frame has %d bytes", n)
			}
			for _, e := range f.Events {
				if e.Index != next {
					t.Fatalf("event %d comes after %d", e.Index, next-1)
				}
				next++
			}
		}
	})
}

func TestAResultThatFitsNoFrameIsAFailure(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		run(t, s, func(o *runner.Options) {
			o.Interceptors = []runner.Interceptor{func(runner.Handler) runner.Handler {
				return func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
					if string(in) == `"large"` {
						return json.RawMessage(`"` + strings.Repeat("x", frames.DefaultMaxPayload) + `"`), nil
					}
					return json.RawMessage(`{"half`), nil
				}
			}}
		})
		socket, _ := s.accept(runnerID, -1)
		for i, c := range []struct{ name, typ string }{{"large", "result_too_large"}, {"bad", "invalid_result"}} {
			socket.start(int64(i), c.name)
			state(t, socket)
			if _, e := state(t, socket); e.Error == nil || e.Error.Type != c.typ || !e.Error.NonRetryable {
				t.Errorf("%s: %+v", c.name, e)
			}
		}
	})
}

// warnings counts what is logged as a warning.
type warnings struct {
	slog.Handler
	texts chan string
}

func (w *warnings) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	w.texts <- r.Message
	return nil
}

// E09: one warning above 10,000 events that are not acknowledged, and another one when that comes again.
func TestE09(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, frames.JSON)
		w := &warnings{slog.DiscardHandler, make(chan string, 10)}
		run(t, s, func(o *runner.Options) {
			o.Logger = slog.New(w)
			o.Interceptors = []runner.Interceptor{func(runner.Handler) runner.Handler {
				return func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil }
			}}
		})
		socket, _ := s.accept(runnerID, -1)
		begin := int64(0)
		events := func(n int64) { // two for each attempt
			for range n / 2 {
				socket.start(begin, fmt.Sprint("t", begin))
				begin++
			}
			synctest.Wait()
			for len(socket.frames) > 0 {
				<-socket.frames
			}
		}
		warned := func(want int) {
			t.Helper()
			if got := len(w.texts); got != want {
				t.Errorf("%d warnings after %d events, want %d", got, 2*begin, want)
			}
		}
		events(10_000)
		warned(0)
		events(2000)
		warned(1)
		socket.send(&frames.ToClientAckEvents{LastEventIdx: 1999})
		synctest.Wait()
		events(2)
		warned(2)
	})
}

// L05: without a socket for the threshold the attempts are stopped, and that is reported as errors.
func TestL05(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, func(o *runner.Options) { o.Slots = 2 })
		socket, _ := s.accept(runnerID, -1)
		for i := range int64(3) {
			socket.start(i, fmt.Sprint("t", i))
		}
		if began := p.tokens(); len(began) != 2 {
			t.Errorf("%v began in two slots", began)
		}
		s.refuse.Store(503)
		socket.drop()
		time.Sleep(14900 * time.Millisecond)
		p.end("t0") <- nil // in time
		if began := p.tokens(); !slices.Equal(began, []string{"t2"}) {
			t.Errorf("%v began, want what has waited for the slot", began)
		}
		time.Sleep(200 * time.Millisecond)
		s.refuse.Store(0)
		socket, _ = s.accept(runnerID, 1)
		ends := map[string]string{}
		for _, e := range got[*frames.ToServerEvents](t, socket).Events {
			if e, ok := e.Inner.(*frames.TaskState); ok && e.State == frames.StateStopped {
				if ends[e.Token] = "ok"; e.Error != nil {
					ends[e.Token] = e.Error.Type
				}
			}
		}
		if want := map[string]string{"t0": "ok", "t1": "lost", "t2": "lost"}; fmt.Sprint(ends) != fmt.Sprint(want) {
			t.Errorf("ended as %v, want %v", ends, want)
		}
		if began := p.tokens(); len(began) != 0 {
			t.Errorf("%v began", began)
		}
	})
}

// L02: a socket that comes back in time changes nothing for attempts.
func TestL02(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		socket.start(0, "a")
		state(t, socket)
		for range 3 {
			s.refuse.Store(503)
			socket.drop()
			time.Sleep(6900 * time.Millisecond)
			s.refuse.Store(0)
			socket, _ = s.accept(runnerID, 0)
		}
		p.end("a") <- nil
		if _, e := state(t, socket); !e.OK {
			t.Errorf("the attempt ended as %+v", e)
		}
	})
}

// Another runner id: what the old one had is stopped, its history is gone, its results are not.
func TestAnotherRunnerIDIsAnotherSession(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		for i := range int64(5) {
			socket.start(i, fmt.Sprint("t", i))
			state(t, socket)
		}
		socket.drop()
		p.end("t0") <- nil
		p.end("t1") <- task.ErrPending
		synctest.Wait()
		socket, _ = s.accept("r-2", -1)
		ends := map[string]string{}
		for next := int64(0); next < 5; {
			for _, e := range got[*frames.ToServerEvents](t, socket).Events {
				state, ok := e.Inner.(*frames.TaskState)
				if !ok || e.Index != next || state.State == frames.StateRunning {
					t.Fatalf("event %d is %+v, want an end with the index %d", e.Index, e.Inner, next)
				}
				next++
				if ends[state.Token] = string(state.State); state.Error != nil {
					ends[state.Token] = state.Error.Type
				}
			}
		}
		if want := map[string]string{"t0": "stopped", "t1": "detached", "t2": "replaced", "t3": "replaced", "t4": "replaced"}; fmt.Sprint(ends) != fmt.Sprint(want) {
			t.Errorf("ended as %v, want %v", ends, want)
		}
		socket.start(0, "new")
		if i, e := state(t, socket); i != 5 || e.Token != "new" {
			t.Errorf("event %d: %+v", i, e)
		}
		socket.drop()
		if _, init := s.accept("r-2", 5); init.LastCommandIdx == nil || *init.LastCommandIdx != 0 {
			t.Errorf("it comes back with %+v", init)
		}
	})
}
