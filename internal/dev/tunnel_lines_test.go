package dev_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// line is one connection to the gateway, on which a client says what it likes.
type line struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	url  *url.URL
}

func (s *tunnelled) line(t *testing.T) *line {
	t.Helper()
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &line{t, conn, bufio.NewReader(conn), u}
}

// say writes the head of a request for a path of the gateway.
func (l *line) say(method, path, headers, body string) {
	l.t.Helper()
	if _, err := fmt.Fprintf(l.conn, "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n%s", method, path, l.url.Host, headers, body); err != nil {
		l.t.Fatal(err)
	}
}

func (l *line) hear() (int, string, error) {
	r, err := http.ReadResponse(l.in, nil)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return r.StatusCode, string(b), err
}

// Requests behind a tunnelled one on the same connection are served as any.
func TestAConnectionServesOthersBehindATunnel(t *testing.T) {
	s := serving(t)
	defer close(s.goOn)
	for range 20 {
		l := s.line(t)
		for range 3 {
			l.say("POST", l.url.EscapedPath()+"/echo", "Content-Length: 4\r\n", "text")
			if code, body, err := l.hear(); code != http.StatusTeapot || body != "text" || err != nil {
				t.Fatalf("%d %q, %v", code, body, err)
			}
			l.say("GET", "/v1/workflows/a%2Fb", "", "")
			if code, body, err := l.hear(); code != http.StatusOK || err != nil {
				t.Fatalf("behind a tunnel: %d %q, %v", code, body, err)
			}
		}
	}
}

// What is left of a body that nobody has read is no request: a proxy may have others' requests on the connection.
func TestTheRestOfABodyIsNoRequest(t *testing.T) {
	s := serving(t)
	defer close(s.goOn)
	smuggled := "GET /v1/workflows/a%2Fb HTTP/1.1\r\nHost: " + s.line(t).url.Host + "\r\n\r\n"
	for name, framing := range map[string][2]string{ // order: each by itself
		"length":      {fmt.Sprintf("Content-Length: %d\r\n", 5+len(smuggled)), "begin"},
		"chunks":      {"Transfer-Encoding: chunked\r\n", "5\r\nbegin\r\n"},
		"a bad chunk": {"Transfer-Encoding: chunked\r\n", "x\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			l := s.line(t)
			l.say("POST", l.url.EscapedPath()+"/early", framing[0], framing[1])
			if name != "a bad chunk" {
				if code, body, err := l.hear(); code != http.StatusForbidden || strings.TrimSpace(body) != "no" || err != nil {
					t.Fatalf("%d %q, %v", code, body, err)
				}
			} else if code, body, err := l.hear(); code < 400 && err == nil {
				t.Fatalf("%d %q, %v", code, body, err)
			}
			if _, err := io.WriteString(l.conn, smuggled); err != nil {
				return // it was closed
			}
			if code, body, err := l.hear(); err == nil {
				t.Errorf("the rest of a body is answered: %d %.60q", code, body)
			}
		})
	}
}
