package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/shared/frames"
)

// asking is a runner whose functions ask for keys as the test says, and hand their errors over.
func asking(t *testing.T, s *server, ask func(ctx context.Context, k runner.Keys) error) (errs chan error) {
	t.Helper()
	errs = make(chan error, 10)
	run(t, s, func(o *runner.Options) {
		o.Interceptors = []runner.Interceptor{func(runner.Handler) runner.Handler {
			return func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
				errs <- ask(ctx, runner.KeysOf(ctx))
				return nil, nil
			}
		}}
	})
	return errs
}

func put(ctx context.Context, k runner.Keys) error {
	return k.Put(ctx, runner.Entry{Key: "a", Value: json.RawMessage("1")})
}

// begin starts an attempt, whose event is passed, and takes its request.
func begin(t *testing.T, p *peer) *frames.ToServerKvRequest {
	t.Helper()
	p.start(0, "t")
	state(t, p)
	return got[*frames.ToServerKvRequest](t, p)
}

func TestAnAttemptAsksForItsKeys(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		errs := asking(t, s, func(ctx context.Context, k runner.Keys) error {
			if err := put(ctx, k); err != nil {
				return err
			}
			all, err := k.Get(ctx, "a", "b")
			if err != nil || len(all) != 1 || all[0].Key != "a" || string(all[0].Value) != "2" {
				return fmt.Errorf("got %+v, %w", all, err)
			}
			if all, err = k.List(ctx, runner.ListOptions{Prefix: "x", Reverse: true, Limit: 5}); err != nil || len(all) != 0 {
				return fmt.Errorf("listed %+v, %w", all, err)
			}
			return k.Delete(ctx, "a")
		})
		socket, _ := s.accept(runnerID, -1)
		request := begin(t, socket)
		if p, ok := request.Inner.(*frames.KvPut); !ok || request.Token != "t" || p.Entries[0].Key != "a" || string(p.Entries[0].Value) != "1" {
			t.Errorf("asks %+v", request)
		}
		socket.send(&frames.ToClientKvResponse{RequestID: request.RequestID + 7}) // nobody's
		socket.send(&frames.ToClientKvResponse{RequestID: request.RequestID})
		request = got[*frames.ToServerKvRequest](t, socket)
		socket.send(&frames.ToClientKvResponse{RequestID: request.RequestID, Entries: []frames.KvEntry{{Key: "a", Value: json.RawMessage("2")}}})
		request = got[*frames.ToServerKvRequest](t, socket)
		if l, ok := request.Inner.(*frames.KvList); !ok || *l != (frames.KvList{Prefix: "x", Reverse: true, Limit: 5}) {
			t.Errorf("asks %+v", request.Inner)
		}
		socket.send(&frames.ToClientKvResponse{RequestID: request.RequestID})
		request = got[*frames.ToServerKvRequest](t, socket)
		socket.send(&frames.ToClientKvResponse{RequestID: request.RequestID, Error: &frames.KvError{Code: "store_full", Message: "m"}})
		if e, ok := errors.AsType[*runner.KeysError](<-errs); !ok || e.Code != "store_full" || e.Message != "m" {
			t.Errorf("the refusal is %+v", e)
		}
	})
}

// K02: an answer that does not come within 30 s.
func TestK02(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		errs := asking(t, s, put)
		socket, _ := s.accept(runnerID, -1)
		before := time.Now()
		begin(t, socket)
		go func() {
			for range 10 {
				time.Sleep(5 * time.Second)
				socket.send(&frames.ToClientPong{})
			}
		}()
		if err := <-errs; !errors.Is(err, runner.ErrTimeout) || time.Since(before) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(before))
		}
		time.Sleep(30 * time.Second)
	})
}

// K03: the socket breaks after a request was sent: its outcome is unknown, and it is not sent again. One that
// was not sent waits for the next socket.
func TestK03(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		errs := asking(t, s, func(ctx context.Context, k runner.Keys) error {
			if err := put(ctx, k); !errors.Is(err, runner.ErrUnknown) {
				t.Errorf("the first request: %v", err)
			}
			return k.Delete(ctx, "b")
		})
		socket, _ := s.accept(runnerID, -1)
		first := begin(t, socket)
		socket.drop()
		socket, _ = s.accept(runnerID, 0)
		second := got[*frames.ToServerKvRequest](t, socket)
		if _, ok := second.Inner.(*frames.KvDelete); !ok || second.RequestID == first.RequestID {
			t.Errorf("after the break comes %+v", second)
		}
		socket.send(&frames.ToClientKvResponse{RequestID: second.RequestID})
		if err := <-errs; err != nil {
			t.Error(err)
		}
	})
}

// A request that waits for a socket for too long.
func TestK02WithoutASocket(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		ask := make(chan struct{})
		errs := asking(t, s, func(ctx context.Context, k runner.Keys) error {
			<-ask
			return put(context.WithoutCancel(ctx), k)
		})
		socket, _ := s.accept(runnerID, -1)
		socket.start(0, "t")
		state(t, socket)
		s.refuse.Store(503)
		socket.drop()
		synctest.Wait()
		before := time.Now()
		close(ask)
		if err := <-errs; !errors.Is(err, runner.ErrTimeout) || time.Since(before) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(before))
		}
	})
}

// K05: what is too much is refused without asking.
func TestK05(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		asking(t, s, func(ctx context.Context, k runner.Keys) error {
			for code, err := range map[string]error{
				"too_many_keys":   k.Delete(ctx, make([]string, 129)...),
				"key_length":      k.Delete(ctx, strings.Repeat("k", 2049)),
				"value_too_large": k.Put(ctx, runner.Entry{Key: "k", Value: json.RawMessage(`"` + strings.Repeat("v", 131_071) + `"`)}),
				"invalid_value":   k.Put(ctx, runner.Entry{Key: "k", Value: json.RawMessage(`{`)}),
			} {
				if e, ok := errors.AsType[*runner.KeysError](err); !ok || e.Code != code {
					t.Errorf("%s: %v", code, err)
				}
			}
			if _, err := k.List(ctx, runner.ListOptions{Limit: 129}); err == nil {
				t.Error("a list of 129 keys was asked for")
			}
			return nil
		})
		socket, _ := s.accept(runnerID, -1)
		socket.start(0, "t")
		state(t, socket)
		if _, e := state(t, socket); !e.OK {
			t.Errorf("it ends as %+v", e.Error)
		}
	})
}

func TestOnlyAnAttemptHasKeys(t *testing.T) {
	if err := runner.KeysOf(t.Context()).Delete(t.Context(), "a"); !errors.Is(err, runner.ErrNoKeys) {
		t.Error(err)
	}
}
