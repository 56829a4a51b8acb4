package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/frames"
)

// pongs answers pings, so that a test may take its time.
func pongs(p *peer) {
	go func() {
		for range 1000 {
			time.Sleep(5 * time.Second)
			if p.conn.Write(context.Background(), 1, frames.EncodeToClient(frames.JSON, &frames.ToClientPong{})) != nil {
				return
			}
		}
	}()
}

// stubborn is a runner whose functions end when the test says so, whatever their contexts do.
func stubborn(t *testing.T, s *server) *program {
	t.Helper()
	return run(t, s, func(o *runner.Options) {
		o.Interceptors = []runner.Interceptor{func(next runner.Handler) runner.Handler {
			return func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
				return next(context.WithoutCancel(ctx), in)
			}
		}}
	})
}

func TestADrainWaitsForItsAttempts(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		socket.start(0, "a")
		state(t, socket)
		p.stop()
		got[*frames.ToServerStopping](t, socket)
		socket.start(1, "late")
		if _, e := state(t, socket); e.Token != "late" || e.Error == nil || e.Error.Type != "going_away" {
			t.Errorf("an attempt that comes late: %+v", e)
		}
		time.Sleep(4 * time.Second)
		p.end("a") <- nil
		if _, e := state(t, socket); !e.OK {
			t.Errorf("it ends as %+v", e)
		}
		socket.send(&frames.ToClientAckEvents{LastEventIdx: 2})
		before := time.Now()
		if err := p.ended(); err != nil || time.Since(before) > 100*time.Millisecond {
			t.Errorf("Run returns %v after %v", err, time.Since(before))
		}
	})
}

// A server that acknowledges nothing is waited for a little while.
func TestADrainDoesNotWaitForAcknowledgementsForEver(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		socket.start(0, "a")
		state(t, socket)
		p.end("a") <- nil
		state(t, socket)
		p.stop()
		before := time.Now()
		if err := p.ended(); err != nil || time.Since(before) < 2*time.Second || time.Since(before) > 2100*time.Millisecond {
			t.Errorf("Run returns %v after %v", err, time.Since(before))
		}
	})
}

// D05: an attempt that never ends is left after 120 s.
func TestD05(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, frames.JSON)
		p := stubborn(t, s)
		socket, _ := s.accept(runnerID, -1)
		pongs(socket)
		socket.start(0, "a")
		<-p.begun
		before := time.Now()
		p.stop()
		for range socket.frames { // until it is closed
		}
		if d := time.Since(before); d < 119900*time.Millisecond || d > 120100*time.Millisecond || socket.closed != frames.CloseRunnerShutdown {
			t.Errorf("closed with %+v after %v", socket.closed, d)
		}
		if err := p.ended(); err != nil || time.Since(before) > 126*time.Second {
			t.Errorf("Run returns %v after %v", err, time.Since(before))
		}
		p.end("a") <- nil
	})
}

// D06: the socket breaks during a drain: the end.
func TestD06(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		socket.start(0, "a")
		<-p.begun
		p.stop()
		synctest.Wait()
		before := time.Now()
		socket.drop()
		if err := p.ended(); err != nil || time.Since(before) > 0 {
			t.Errorf("Run returns %v after %v", err, time.Since(before))
		}
		time.Sleep(5 * time.Minute)
		if len(s.sockets) != 0 {
			t.Error("it came back")
		}
	})
}

// D11: an immediate shutdown closes at once, without a word.
func TestD11(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		socket.start(0, "a")
		state(t, socket)
		before := time.Now()
		p.StopNow()
		if err := p.ended(); err != nil || time.Since(before) > 0 {
			t.Errorf("Run returns %v after %v", err, time.Since(before))
		}
		if silent(t, socket); socket.closed != frames.CloseRunnerShutdown {
			t.Errorf("closed with %+v", socket.closed)
		}
	})
}

// R05: a function that breaks down has failed, and is not completed.
func TestR05(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		run(t, s, func(o *runner.Options) {
			o.Interceptors = []runner.Interceptor{func(runner.Handler) runner.Handler {
				return func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
					if string(in) == `"panic"` {
						panic("broken")
					}
					runtime.Goexit()
					return nil, nil
				}
			}}
		})
		socket, _ := s.accept(runnerID, -1)
		for i, name := range []string{"panic", "exit"} {
			socket.start(int64(i), name)
			state(t, socket)
			if _, e := state(t, socket); e.OK || e.Error == nil || e.Error.Type != "panic" || e.Error.NonRetryable {
				t.Errorf("%s ends as %+v", name, e)
			}
		}
		socket.send(&frames.ToClientCommands{Commands: []frames.Command{{Index: 2, Inner: &frames.StartTask{Token: "c", Task: "tests.worc"}}}})
		state(t, socket)
		if _, e := state(t, socket); e.Error == nil || e.Error.Type != "unknown_task" || !strings.Contains(e.Error.Message, "nearest: "+work.Name()) {
			t.Errorf("a task that nobody registered ends as %+v", e.Error)
		}
	})
}

func TestAnAttemptHasATimeAndADeadline(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		for i, start := range []*frames.StartTask{{Token: "a", Timeout: 5000}, {Token: "b", Deadline: time.Now().UnixMilli() + 12_000}, {Token: "c", Timeout: 60_000, Deadline: time.Now().UnixMilli() + 14_000}} {
			start.Task, start.Input = work.Name(), []byte(`"x"`)
			socket.send(&frames.ToClientCommands{Commands: []frames.Command{{Index: int64(i), Inner: start}}})
			state(t, socket)
		}
		began := time.Now()
		for _, want := range []time.Duration{5 * time.Second, 12 * time.Second, 14 * time.Second} {
			if _, e := state(t, socket); e.Error == nil || e.Error.Type != "timeout" || time.Since(began) != want {
				t.Errorf("%s ends as %+v after %v, want a timeout after %v", e.Token, e.Error, time.Since(began), want)
			}
		}
	})
}

// A heartbeat's newest details are sent once a second, and those that were not before the failure; while there
// is no socket they wait.
func TestHeartbeats(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		beats := make(chan int)
		run(t, s, func(o *runner.Options) {
			o.Interceptors = []runner.Interceptor{func(runner.Handler) runner.Handler {
				return func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
					for n := range beats {
						if err := task.Heartbeat(ctx, n); err != nil {
							return nil, err
						}
					}
					if task.Heartbeat(ctx, strings.Repeat("x", 64<<10)) == nil {
						t.Error("details of more than 64 KiB were taken")
					}
					return nil, errors.New("no")
				}
			}}
		})
		socket, _ := s.accept(runnerID, -1)
		socket.start(0, "a")
		state(t, socket)
		for n := range 40 {
			beats <- n
			time.Sleep(100 * time.Millisecond)
		}
		for _, want := range []string{"0", "9", "19", "29", "39"} {
			beat(t, socket, want)
		}
		silent(t, socket)
		socket.drop()
		for n := range 10 {
			beats <- 50 + n
		}
		socket, _ = s.accept(runnerID, 5)
		beat(t, socket, "59")
		beats <- 70
		close(beats)
		beat(t, socket, "70")
		if _, e := state(t, socket); e.Error == nil {
			t.Errorf("it ends as %+v", e)
		}
	})
}

func beat(t *testing.T, p *peer, want string) {
	t.Helper()
	e := got[*frames.ToServerEvents](t, p).Events
	if h, ok := e[0].Inner.(*frames.Heartbeat); !ok || len(e) != 1 || string(h.Details) != want {
		t.Errorf("got %+v, want the details %s", e[0].Inner, want)
	}
}

// An attempt whose runner is going away is told, has a while to end by itself, and is stopped before the time of a
// drain is over.
func TestAnAttemptThatIsToLeaveHasAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, frames.JSON)
		told := make(chan struct{}, 10)
		p := run(t, s, func(o *runner.Options) {
			o.Interceptors = []runner.Interceptor{func(next runner.Handler) runner.Handler {
				return func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
					go func() { <-runner.Leaving(ctx); told <- struct{}{} }()
					return next(ctx, in)
				}
			}}
		})
		socket, _ := s.accept(runnerID, -1)
		pongs(socket)
		socket.start(0, "short")
		socket.start(1, "long")
		state(t, socket)
		state(t, socket)
		began := time.Now()
		socket.send(stop(2, "short", frames.StopGoingAway))
		socket.send(stop(3, "long", frames.StopGoingAway))
		<-told
		<-told
		time.Sleep(10 * time.Second)
		p.end("short") <- nil
		if _, e := state(t, socket); e.Token != "short" || !e.OK {
			t.Errorf("it ends as %+v", e)
		}
		if _, e := state(t, socket); e.Token != "long" || e.Error == nil || e.Error.Type != "going_away" || time.Since(began) != 108*time.Second {
			t.Errorf("after %v %s ends as %+v", time.Since(began), e.Token, e.Error)
		}
		p.StopNow()
		if err := p.ended(); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second) // the goroutine of pongs ends
	})
}
