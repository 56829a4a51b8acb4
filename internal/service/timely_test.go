package service_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/service"
)

// pipes is a listener in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial() net.Conn {
	near, far := net.Pipe()
	p <- far
	return near
}

// A client that does not send what it began is let go; one that waits for its
// answer is not, with a body or without.
func TestSlowBodiesAreLetGoAndLongWaitsAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const long = time.Hour
		mux := http.NewServeMux()
		mux.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			select {
			case <-time.After(long): // of the bubble
			case <-r.Context().Done():
				t.Errorf("%s is given up: %v", r.Method, context.Cause(r.Context()))
			}
		})
		mux.HandleFunc("/unread", func(http.ResponseWriter, *http.Request) {})
		ln := make(pipes)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- service.ServeHTTP(ctx, ln, mux, time.Second, nil) }()
		for request, c := range map[string]struct {
			status int           // 0: closed without an answer
			took   time.Duration // until the connection is closed, or the answer is there
		}{
			"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n":                                {http.StatusOK, long},
			"POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}":        {http.StatusOK, long},
			"POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{":         {http.StatusBadRequest, 30 * time.Second},
			"POST /wait HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n": {http.StatusBadRequest, 30 * time.Second},
			"POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{":       {http.StatusOK, 30 * time.Second},
			"GET /wait HTTP/1.1\r\nHost: ":                                         {0, 10 * time.Second},
			"":                                                                     {0, 10 * time.Second},
		} {
			conn := ln.dial()
			began := time.Now()
			go func() { _, _ = io.WriteString(conn, request) }() // it may be closed meanwhile
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			took := time.Since(began)
			switch {
			case c.status == 0 && err == nil && resp.StatusCode != http.StatusRequestTimeout && resp.StatusCode != http.StatusBadRequest:
				t.Errorf("%q is answered with %d", request, resp.StatusCode)
			case c.status != 0 && (err != nil || resp.StatusCode != c.status):
				t.Errorf("%q: %+v, %v", request, resp, err)
			}
			if took != c.took {
				t.Errorf("%q took %s, want %s", request, took, c.took)
			}
			conn.Close()
		}
		stop()
		if err := <-ended; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

func TestConnectionsAreBoundedForEachClientAndAll(t *testing.T) {
	inner := make(from)
	ln := service.Bounded(inner, service.Bounds{Connections: 3, PerClient: 2})
	accepted := make(chan net.Conn)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- conn
		}
	}()
	// served reports whether a connection of a client is served, or closed.
	served := func(client string) (net.Conn, bool) {
		near, far := net.Pipe()
		closed := make(chan struct{})
		go func() { _, _ = near.Read(make([]byte, 1)); close(closed) }() // it ends with the connection
		inner <- named{far, client}
		select {
		case conn := <-accepted:
			return conn, true
		case <-closed:
			return nil, false
		}
	}
	first, ok := served("10.0.0.1:1")
	if _, again := served("10.0.0.1:2"); !ok || !again {
		t.Fatal("a client within its bound is closed")
	}
	if _, ok := served("10.0.0.1:3"); ok {
		t.Error("a client above its bound is served")
	}
	if _, ok := served("10.0.0.2:1"); !ok {
		t.Error("another client is closed")
	}
	if _, ok := served("10.0.0.3:1"); ok {
		t.Error("there are more than all")
	}
	first.Close()
	first.Close() // counts once
	if _, ok := served("10.0.0.1:4"); !ok {
		t.Error("a place that was left is not given again")
	}
	if _, ok := served("10.0.0.4:1"); ok {
		t.Error("a place is given twice")
	}
	close(inner)
	<-accepted
}

// from is a listener of connections that say where they come from.
type from chan net.Conn

func (f from) Accept() (net.Conn, error) { return pipes(f).Accept() }
func (f from) Close() error              { return nil }
func (f from) Addr() net.Addr            { return &net.TCPAddr{} }

type named struct {
	net.Conn
	client string
}

func (n named) RemoteAddr() net.Addr { return address(n.client) }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
