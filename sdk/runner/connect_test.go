package runner_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/shared/frames"
)

func TestARunnerSaysWhoItIsAndRunsWhatItIsGiven(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, func(o *runner.Options) { o.Token, o.Metadata = "secret", map[string]int{"cores": 8} })
		socket := s.next()
		u, err := url.Parse(socket.url)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		if u.Path != frames.Path || q.Get("protocol_version") != "1" || q.Get("pool") != "images" || q.Get("runner_key") != "k" || socket.header.Get("Authorization") != "Bearer secret" {
			t.Errorf("connects to %s with %v", socket.url, socket.header)
		}
		init := got[*frames.ToServerInit](t, socket)
		if init.Name != "n" || init.Version != 3 || init.TotalSlots != 1000 || init.LastCommandIdx != nil || init.Instance == "" || string(init.Metadata) != `{"cores":8}` ||
			len(init.PrepopulateTaskNames) != 1 || init.PrepopulateTaskNames[0].Key != work.Name() {
			t.Errorf("the first frame is %+v", init)
		}
		socket.init(runnerID, -1)
		socket.start(0, "a")
		if i, e := state(t, socket); i != 0 || e.State != frames.StateRunning || e.Token != "a" {
			t.Errorf("event %d: %+v", i, e)
		}
		p.end("a") <- nil
		if i, e := state(t, socket); i != 1 || !e.OK || string(e.Result) != `"did a"` {
			t.Errorf("event %d: %+v", i, e)
		}
		socket.start(1, "b")
		state(t, socket)
		p.end("b") <- errors.New("no")
		if _, e := state(t, socket); e.OK || e.Error == nil || e.Error.Message != "no" || e.Error.Type != "error" || e.Error.NonRetryable {
			t.Errorf("a failure is %+v", e)
		}
		p.stop()
		got[*frames.ToServerStopping](t, socket)
		socket.send(&frames.ToClientAckEvents{LastEventIdx: 3})
		if err := p.ended(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if socket.closed != frames.CloseRunnerShutdown {
			t.Errorf("closed with %+v", socket.closed)
		}
		for _, want := range []string{"connected " + runnerID, "disconnected", "shutdown"} {
			if got := <-p.told; got != want {
				t.Errorf("told %q, want %q", got, want)
			}
		}
	})
}

// P01: a ping every 3 s.
func TestP01(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		last := time.Now()
		for range 4 {
			ping := got[*frames.ToServerPing](t, socket)
			if apart := time.Since(last); apart > 3200*time.Millisecond || ping.Ts != time.Now().UnixMilli() {
				t.Errorf("a ping of %d after %v", ping.Ts, apart)
			}
			last = time.Now()
			socket.send(&frames.ToClientPong{Ts: ping.Ts})
		}
	})
}

// A server that says nothing for pingTimeout is as good as gone.
func TestASilentServerIsLeft(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		run(t, s, nil)
		began := time.Now()
		s.accept(runnerID, -1)
		s.accept(runnerID, -1)
		if d := time.Since(began); d < 16*time.Second || d > 17*time.Second {
			t.Errorf("another socket after %v, want 15 s and the first delay", d)
		}
	})
}

// L11: the delay grows while no ToClientInit comes, has its bound, and begins anew after one.
func TestL11(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		run(t, s, nil)
		var last time.Time
		for n := range 8 {
			socket := s.next()
			if n > 0 {
				want := min(time.Second<<(n-1), 30*time.Second)
				if d := socket.opened.Sub(last); d < want || d >= want+want/4+10*time.Millisecond {
					t.Errorf("socket %d comes after %v, want %v and up to a quarter more", n, d, want)
				}
			}
			got[*frames.ToServerInit](t, socket)
			last = time.Now()
			socket.close(frames.CloseGoingAway)
		}
		socket, _ := s.accept(runnerID, -1)
		synctest.Wait()
		last = time.Now()
		socket.close(frames.CloseGoingAway)
		if d := s.next().opened.Sub(last); d < time.Second || d >= 1260*time.Millisecond {
			t.Errorf("after a ToClientInit: %v", d)
		}
	})
}

// D12: shut down while connecting: the connection is given up, and no Init comes later.
func TestD12(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		gaveUp := false
		p := run(t, s, func(o *runner.Options) {
			o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				gaveUp = true
				return nil, ctx.Err()
			}
		})
		time.Sleep(500 * time.Millisecond)
		p.stop()
		if err := p.ended(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !gaveUp || len(s.sockets) != 0 {
			t.Errorf("gave up: %v; %d sockets", gaveUp, len(s.sockets))
		}
	})
}

// D12: likewise between the opening of the socket and ToClientInit.
func TestD12BeforeToClientInit(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, nil)
		socket := s.next()
		got[*frames.ToServerInit](t, socket)
		p.stop()
		if err := p.ended(); err != nil {
			t.Error(err)
		}
		if silent(t, socket); socket.closed != frames.CloseRunnerShutdown {
			t.Errorf("closed with %+v", socket.closed)
		}
	})
}

// L07, D07: a runner that is closed for good stops its tasks and does not come back.
func TestL07(t *testing.T) {
	for name, farewell := range map[string]func(*peer){
		"the close alone":       func(p *peer) { p.close(frames.CloseEviction) },
		"with ToClientClose":    func(p *peer) { p.send(&frames.ToClientClose{Reason: "stopped"}); p.close(frames.CloseEviction) },
		"ToClientClose, broken": func(p *peer) { p.send(&frames.ToClientClose{Reason: "stopped"}); synctest.Wait(); p.drop() },
	} {
		t.Run(name, func(t *testing.T) {
			within(t, func(t *testing.T, s *server) {
				p := run(t, s, nil)
				socket, _ := s.accept(runnerID, -1)
				socket.start(0, "a")
				<-p.begun
				farewell(socket)
				if err := p.ended(); !errors.Is(err, runner.ErrEvicted) {
					t.Errorf("Run returns %v", err)
				}
				time.Sleep(5 * time.Minute)
				if len(s.sockets) != 0 {
					t.Error("it came back")
				}
			})
		})
	}
}

// C05: a server that does not take the URL is not asked again.
func TestC05(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, nil)
		s.next().close(frames.CloseInvalidURL)
		if err := p.ended(); err == nil || errors.Is(err, runner.ErrEvicted) {
			t.Errorf("Run returns %v", err)
		}
	})
}

// A second ToClientInit, a frame that is none of its server, and one that cannot be read.
func TestWhatTheServerShouldNotSend(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		socket.init("r-2", 50)
		socket.start(0, "a")
		if i, _ := state(t, socket); i != 0 {
			t.Errorf("a second Init was taken: event %d", i)
		}
		other := *socket
		other.mode = frames.JSON + frames.Binary - s.mode
		other.send(&frames.ToClientPong{})
		synctest.Wait()
		if socket.closed != frames.CloseInvalidPacket {
			t.Errorf("the socket ends with %+v", socket.closed)
		}
		socket, init := s.accept(runnerID, 0)
		if init.LastCommandIdx == nil || *init.LastCommandIdx != 0 {
			t.Errorf("it comes back with %+v", init)
		}
		p.end("a") <- nil
		if i, e := state(t, socket); i != 1 || !e.OK {
			t.Errorf("event %d: %+v", i, e)
		}
	})
}

func TestARefusedUpgradeIsTriedAgain(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		s.refuse.Store(401)
		run(t, s, nil)
		time.Sleep(10 * time.Second)
		s.refuse.Store(0)
		s.accept(runnerID, -1)
	})
}
