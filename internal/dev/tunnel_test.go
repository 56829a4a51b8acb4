package dev_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/services/planner/pool"
)

// tunnelled is a running attempt that serves requests, and where clients reach it.
type tunnelled struct {
	*dev.Dev
	url  string
	goOn chan struct{} // closed: the attempt ends
	gone chan struct{} // has one for each request whose client has gone
}

// serving starts a deployment with an attempt that serves requests.
func serving(t *testing.T) *tunnelled {
	t.Helper()
	ctx := within(t)
	d := start(t, ctx, dev.Options{Partitions: 2, Memory: true, Pools: map[string]pool.Options{"images": {Queues: []string{"images"}}}})
	t.Cleanup(func() { stop(t, d) })
	c := connect(t, d)
	if _, err := c.Define(ctx, "pooled", []byte(pooled)); err != nil {
		t.Fatal(err)
	}
	s := &tunnelled{Dev: d, goOn: make(chan struct{}), gone: make(chan struct{}, 16)}
	tokens := make(chan string, 1)
	end := runs(t, d, "one", func(ctx context.Context, n int) (int, error) {
		if err := runner.Serve(ctx, s.handler()); err != nil {
			return 0, err
		}
		tokens <- task.Token(ctx)
		select {
		case <-s.goOn:
			return 2 * n, nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	})
	t.Cleanup(end)
	if _, err := c.Start(ctx, "pooled", []int{1}, client.StartOptions{ID: "a/b"}); err != nil {
		t.Fatal(err)
	}
	select {
	case token := <-tokens:
		s.url = d.URL + "/v1/workflows/a%2Fb/tasks/" + token + "/tunnel"
	case <-ctx.Done():
		t.Fatal("the attempt does not begin")
	}
	return s
}

// speaking are headers by which an answer would say something of the gateway's address to browsers.
var speaking = []string{"Set-Cookie", "Access-Control-Allow-Origin", "Clear-Site-Data", "NEL", "Report-To", "Accept-CH", "WWW-Authenticate"}

// handler is what the attempt serves.
func (s *tunnelled) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Authorization", "Cookie", "X-Forwarded-Port", "X-Own", "Host"} {
			w.Header().Add("X-Got", name+"="+strings.Join(r.Header.Values(name), ",")+r.URL.Query().Get(name))
		}
		for _, name := range speaking {
			w.Header().Set(name, "a=b")
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.Copy(w, r.Body) // the client sees it
	})
	mux.HandleFunc("/sum", func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		n, err := io.Copy(h, r.Body)
		fmt.Fprintf(w, "%d %s %v", n, hex.EncodeToString(h.Sum(nil)), err)
	})
	mux.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "begun")
		_ = http.NewResponseController(w).Flush() // the client sees it
		<-r.Context().Done()
		s.gone <- struct{}{}
	})
	mux.HandleFunc("/early", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"talk"}})
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }() // it is closed, as a rule
		for {
			kind, b, err := conn.Read(r.Context())
			if err != nil {
				s.gone <- struct{}{}
				return
			}
			if string(b) == "bye" {
				_ = conn.Close(4001, "as you like") // the client sees it
				return
			}
			if err := conn.Write(r.Context(), kind, b); err != nil {
				return
			}
		}
	})
	return mux
}

func (s *tunnelled) ask(t *testing.T, method, path string, body io.Reader, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	return resp, string(b)
}

func (s *tunnelled) left(t *testing.T) {
	t.Helper()
	select {
	case <-s.gone:
	case <-time.After(30 * time.Second):
		t.Error("the attempt does not see that its client has gone")
	}
}

// A running attempt answers requests of clients of the gateway, and holds WebSockets with them, until it ends.
func TestAnAttemptIsReachedThroughTheGateway(t *testing.T) {
	s := serving(t)
	t.Run("request", func(t *testing.T) {
		r, body := s.ask(t, "PATCH", "/echo?Host=1%202", strings.NewReader("text"), "Authorization", "Bearer x", "Cookie", "a=b", "X-Own", "mine",
			"X-Forwarded-Port", "1")
		want := []string{"Authorization=", "Cookie=", "X-Forwarded-Port=", "X-Own=mine", "Host=1 2"}
		if r.StatusCode != http.StatusTeapot || body != "text" || fmt.Sprint(r.Header.Values("X-Got")) != fmt.Sprint(want) {
			t.Errorf("%d %q, %q", r.StatusCode, body, r.Header)
		}
		for _, name := range speaking {
			if v := r.Header.Get(name); v != "" {
				t.Errorf("an attempt speaks for the gateway's address: %s: %s", name, v)
			}
		}
		if r, body := s.ask(t, "HEAD", "/echo", nil); r.StatusCode != http.StatusTeapot || body != "" {
			t.Errorf("HEAD: %d %q", r.StatusCode, body)
		}
	})
	t.Run("one connection", func(t *testing.T) {
		for i := range 50 {
			if r, body := s.ask(t, "GET", "/echo", nil); r.StatusCode != http.StatusTeapot {
				t.Fatalf("request %d: %d %q", i, r.StatusCode, body)
			}
			if r, body := s.ask(t, "POST", "/echo", strings.NewReader("text")); r.StatusCode != http.StatusTeapot || body != "text" {
				t.Fatalf("request %d: %d %q", i, r.StatusCode, body)
			}
		}
	})
	t.Run("large", func(t *testing.T) {
		b := bytes.Repeat([]byte("0123456789abcdef"), 300_000)
		sum := sha256.Sum256(b)
		want := fmt.Sprintf("%d %s <nil>", len(b), hex.EncodeToString(sum[:]))
		if _, got := s.ask(t, "POST", "/sum", bytes.NewReader(b)); got != want {
			t.Errorf("the attempt got %s, want %s", got, want)
		}
		if _, got := s.ask(t, "POST", "/echo", bytes.NewReader(b)); got != string(b) {
			t.Errorf("%d bytes came back of %d", len(got), len(b))
		}
	})
	t.Run("no answer", func(t *testing.T) {
		if r, body := s.ask(t, "GET", "/panic", nil); r.StatusCode != http.StatusBadGateway || !strings.Contains(body, "tunnel_aborted") {
			t.Errorf("%d %s", r.StatusCode, body)
		}
	})
	t.Run("the client goes", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "GET", s.url+"/wait", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, 5)); err != nil {
			t.Error(err)
		}
		cancel()
		resp.Body.Close()
		s.left(t)
	})
	t.Run("WebSocket", s.talk)
	t.Run("others", func(t *testing.T) {
		was := s.url
		defer func() { s.url = was }()
		s.url = strings.Replace(was, "a%2Fb", "c", 1)
		if r, body := s.ask(t, "GET", "/", nil); r.StatusCode != http.StatusNotFound {
			t.Errorf("another workflow: %d %s", r.StatusCode, body)
		}
	})
	waiting := make(chan error, 1)
	resp, err := http.Get(s.url + "/wait")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		waiting <- err
	}()
	close(s.goOn)
	if err := <-waiting; err == nil {
		t.Error("an answer is whole whose attempt has ended in the middle of it")
	}
	s.left(t)
	if r, body := s.ask(t, "GET", "/echo", nil); r.StatusCode != http.StatusNotFound && r.StatusCode != http.StatusConflict && r.StatusCode != http.StatusBadGateway {
		t.Errorf("behind its end: %d %s", r.StatusCode, body)
	}
}

func (s *tunnelled) dial(t *testing.T) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), s.url+"/socket", &websocket.DialOptions{Subprotocols: []string{"other", "talk"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() }) // it is closed, as a rule
	return conn
}

func echoed(t *testing.T, conn *websocket.Conn, kind websocket.MessageType, text string) {
	t.Helper()
	if err := conn.Write(t.Context(), kind, []byte(text)); err != nil {
		t.Fatal(err)
	}
	if got, b, err := conn.Read(t.Context()); err != nil || got != kind || string(b) != text {
		t.Fatalf("%v %q, %v; want %q", got, b, err, text)
	}
}

func (s *tunnelled) talk(t *testing.T) {
	conn := s.dial(t)
	if p := conn.Subprotocol(); p != "talk" {
		t.Errorf("the sub-protocol is %q", p)
	}
	echoed(t, conn, websocket.MessageText, "hello")
	echoed(t, conn, websocket.MessageBinary, "\x00\xff")
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("bye")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != 4001 || !strings.Contains(err.Error(), "as you like") {
		t.Errorf("it is closed with %v", err)
	}
	conn = s.dial(t)
	echoed(t, conn, websocket.MessageText, "hello")
	if err := conn.Close(4002, "enough"); err != nil {
		t.Error(err)
	}
	s.left(t)
	conn = s.dial(t)
	echoed(t, conn, websocket.MessageText, "hello")
	if err := conn.CloseNow(); err != nil {
		t.Error(err)
	}
	s.left(t)
	if _, r, err := websocket.Dial(t.Context(), s.url+"/echo", nil); err == nil || r.StatusCode != http.StatusBadGateway {
		t.Errorf("what is no WebSocket is opened: %v", err)
	}
}

// The executor that has the runner's socket, and the planner, are started again in the middle of a stream both ways: all of it arrives, once.
func TestAStreamSurvivesTheEndOfItsExecutor(t *testing.T) {
	s := serving(t)
	conn := s.dial(t)
	const count = 3000
	sent := make(chan error, 1)
	go func() {
		for i := range count {
			if err := conn.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil, "%d %s", i, strings.Repeat("x", i%2000))); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for i := range count {
		if i == 500 || i == 1500 {
			for _, one := range []dev.Service{dev.Executor, dev.Planner}[:1+i/1500] {
				if err := s.StopService(one); err != nil {
					t.Fatal(err)
				}
				if err := s.StartService(t.Context(), one); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, b, err := conn.Read(t.Context())
		if want := fmt.Sprintf("%d %s", i, strings.Repeat("x", i%2000)); err != nil || string(b) != want {
			t.Fatalf("message %d is %.20q, %v", i, b, err)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	close(s.goOn)
}
