package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answered is a client of a server in memory that answers each connection by
// serve, which begins when the request has been read.
func answered(t *testing.T, serve func(conn net.Conn)) *Client {
	t.Helper()
	dial := func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			if _, err := http.ReadRequest(bufio.NewReader(far)); err == nil {
				serve(far)
			}
		}()
		return near, nil
	}
	c, err := New(t.Context(), Options{URL: "http://gateway", HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dial}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mute says nothing until the connection is closed.
func mute(conn net.Conn) {
	_, _ = io.Copy(io.Discard, conn) // it ends with the connection
}

const okHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

// A client that speaks TLS where none is spoken, or the other way round, is told which, and one that
// asks where nobody listens, that nobody does.
func TestTheWrongSchemeIsNamed(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for url, says := range map[string]string{
		gone.URL: "does a gateway run there",
		strings.Replace(plain.URL, "http:", "https:", 1):  "speaks http, not https",
		strings.Replace(secure.URL, "https:", "http:", 1): "speaks https, not http",
		secure.URL: "--ca-file",
	} {
		c, err := New(t.Context(), Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = c.List(t.Context(), Filter{})
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), gatewayHint) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestWhoDoesNotAnswerIsNotWaitedForForEver(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(net.Conn)
		says  string
		took  time.Duration
	}{
		"a mute server": {mute, "no answer within 20s", answerTime},
		"an answer that stops": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, okHead+"Content-Length: 99\r\n\r\n{")
			mute(conn)
		}, "stopped for 45s", silence},
		"an answer that trickles": {func(conn net.Conn) {
			_, err := io.WriteString(conn, okHead+"Content-Length: 99999\r\n\r\n{")
			for err == nil {
				time.Sleep(time.Second)
				_, err = io.WriteString(conn, " ")
			}
		}, "not whole after 1m0s", wholeTime},
		"another language": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, "220 mail.example ESMTP\r\n")
		}, gatewayHint, 0},
		"a web page": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 6\r\n\r\n<html>")
		}, gatewayHint, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := answered(t, c.serve)
				defer cl.Close()
				began := time.Now()
				_, err := cl.List(t.Context(), Filter{})
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("the error is %v", err)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %s, want %s", took, c.took)
				}
				for _, err := range cl.Run("w").Events(t.Context()) {
					if err == nil {
						t.Error("there is an event")
					}
				}
				time.Sleep(2 * time.Second) // until the server sees that nobody reads
			})
		})
	}
}

// Whoever does not hear whether a workflow has started, gets its ID to find out by.
func TestAStartThatNobodyAnsweredHasItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := answered(t, mute)
		defer cl.Close()
		run, err := cl.Start(t.Context(), "orders", nil, StartOptions{})
		if err == nil || run == nil || run.ID == "" || !strings.Contains(err.Error(), run.ID) {
			t.Errorf("it came back with %+v, %v", run, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		cl := answered(t, func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 404 Not Found\r\nContent-Type: application/problem+json\r\nContent-Length: 43\r\n\r\n{\"type\":\"not_found\",\"title\":\"not found\"}   ")
		})
		defer cl.Close()
		if run, err := cl.Start(t.Context(), "orders", nil, StartOptions{}); run != nil || !errors.Is(err, ErrNotFound) {
			t.Errorf("what is refused came back with %+v, %v", run, err)
		}
	})
}

// A client that asks for a long wait gets it, and a stream lasts as long as it says now and
// then that it is there.
func TestLongWaitsAndQuietStreamsAreNotCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := answered(t, func(conn net.Conn) {
			time.Sleep(waitStep) // of the bubble: what a gateway waits
			body := `{"id":"w","status":"idle"}`
			_, _ = io.WriteString(conn, okHead+"Content-Length: 26\r\nConnection: close\r\n\r\n"+body)
		})
		defer cl.Close()
		tr := cl.t.(*httpTransport)
		_, b, err := tr.fetch(t.Context(), request{method: http.MethodGet, path: "/v1/workflows/w", waits: waitStep})
		if err != nil || len(b) != 26 {
			t.Errorf("a long wait: %q, %v", b, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		cl := answered(t, func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
			for range 40 { // ten minutes
				time.Sleep(silence / 3)
				_, _ = io.WriteString(conn, ": still here\n\n")
			}
			_, _ = io.WriteString(conn, "id: 1-1.1-0\ndata: {\"type\":\"WorkflowDeleted\"}\n\n")
			mute(conn)
		})
		defer cl.Close()
		var last string
		for e, err := range cl.Run("w").Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			last = e.Type
		}
		if last != "WorkflowDeleted" {
			t.Errorf("the last event is %q", last)
		}
	})
}

// A stream that breaks off is taken up again; one that never began is an error.
func TestAStreamThatNeverBeganIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := answered(t, mute)
		defer cl.Close()
		for _, err := range cl.Run("w").Events(t.Context()) {
			if !errors.Is(err, ErrUnavailable) {
				t.Errorf("the error is %v", err)
			}
		}
	})
}
