package executor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/worker"
)

// Whatever stands in the input of a built-in task, in the URL of a service and
// in the answer of a server, an attempt has a result that is JSON, is pending or
// unknown, or has a failure.
func FuzzAnswer(f *testing.F) {
	for _, s := range []struct {
		status         uint16
		headers, input string
		body           string
	}{
		{200, "Content-Type: application/json", `{"url":"http://server/","map":"input.body.a"}`, `{"a":[1]}`},
		{202, "", `{"url":"http://server/x?y","method":"put","body":{"a":1},"timeout":"30s","headers":{"a":"b"}}`, ``},
		{429, "Retry-After: 7", `{"url":"http://server","body":"text","expect":[200,"4xx"]}`, `{"type":"busy","message":"m","retryable":false,"details":[1]}`},
		{503, "Retry-After: Fri, 18 Sep 2026 12:01:00 GMT", `{"url":"http://server","timeout_ms":9223372036854775807}`, "\xff\xfe"},
		{503, "Retry-After: -9999999999", `{"url":"http://server","timeout_ms":-1}`, `{"retryable":true}`},
		{302, "Location: http://elsewhere/", `{"url":"http://server","timeout_ms":18446744073710}`, ""},
		{404, "", `{"url":"http://server","map":"1 +"}`, `{"type":"unknown_task"}`},
		{200, "Content-Type: text/html; charset", `{"url":"ftp://server"}`, "<html>"},
	} {
		f.Add(s.status, s.headers, s.input, s.body)
	}
	f.Fuzz(func(t *testing.T, status uint16, headers, input, body string) {
		server := answering{int(status), headers, body}
		request := newRequest(t, HTTPRules{Hosts: []string{"server"}, MaxResponse: 1 << 10})
		request.client.Transport = server
		checkAnswer(t, request, attempt("http.request", input))
		service := newService(t, "http://server/{task}")
		service.client.Transport = server
		checkAnswer(t, service, attempt(input, `1`))
		checkURL(t, body, input)
		checkWaits(t, server.header(), input)
		checkProduced(t, input)
	})
}

// checkAnswer runs an attempt and holds that it comes to one of the ends that
// an attempt has.
func checkAnswer(t *testing.T, h worker.Handler, a *worker.Attempt) {
	t.Helper()
	result, err := h.Run(t.Context(), a)
	switch own, failed := errors.AsType[worker.Failure](err); {
	case err == nil:
		if len(result) > 0 && !json.Valid(result) {
			t.Errorf("the result is %q", result)
		}
	case failed:
		e := own.TaskError()
		if e.Type == "" || e.Message == "" || e.RetryAfterMs < 0 || e.RetryAfterMs > maxRetryAfter.Milliseconds() || len(e.Details) > 0 && !json.Valid(e.Details) {
			t.Errorf("the failure is %+v", e)
		}
	case !errors.Is(err, worker.ErrPending) && !errors.Is(err, worker.ErrUnknownTask) && !errors.Is(err, context.DeadlineExceeded):
		t.Errorf("it ends with %v, which says nothing to the workflow", err)
	}
}

// checkURL holds that no task chooses the host of a service.
func checkURL(t *testing.T, service, task string) {
	t.Helper()
	h, err := newHTTPService("orders", Service{URL: service}, HTTPRules{})
	if err != nil {
		return
	}
	defer h.client.CloseIdleConnections()
	one, err := url.Parse(h.of("one"))
	asked, err2 := url.Parse(h.of(task))
	if err != nil || err2 != nil || one.Host != asked.Host || one.Scheme != asked.Scheme {
		t.Errorf("the task %q of %q is asked at %v, %v, %v", task, service, asked, err, err2)
	}
}

// checkWaits holds that the times of others are what they say, or are refused.
func checkWaits(t *testing.T, h http.Header, input string) {
	t.Helper()
	if seconds, err := strconv.ParseInt(h.Get("Retry-After"), 10, 64); err == nil {
		want := min(max(seconds, 0), int64(maxRetryAfter/time.Second))
		if got := retryAfter(h, time.Now()); got != time.Duration(want)*time.Second {
			t.Errorf("to retry after %d s is to wait %v", seconds, got)
		}
	}
	var p requestParams
	if json.Unmarshal([]byte(input), &p) == nil && p.Timeout == "" && p.TimeoutMs != 0 {
		if d, err := p.timeout(); err == nil && d.Milliseconds() != p.TimeoutMs {
			t.Errorf("%d ms are taken for %v", p.TimeoutMs, d)
		}
	}
}

// checkProduced holds that no input of kafka.produce writes where it may not.
func checkProduced(t *testing.T, input string) {
	t.Helper()
	k, err := newKafkaProduce(&Config{Kafka: kafka.Config{Brokers: []string{"127.0.0.1:1"}}})
	if err != nil {
		t.Fatal(err)
	}
	a := attempt("kafka.produce", input)
	var p produceParams
	if parameters(a, &p) == nil && k.check(p.Topic) == nil {
		t.Errorf("%q may be written to: %v", p.Topic, p.record(a))
	}
	k.allowed = []string{"*"}
	if k.check(p.Topic) == nil && strings.HasPrefix(p.record(a).Topic, k.names.Prefix()) {
		t.Errorf("%q may be written to", p.Topic)
	}
}

// answering is a server that answers all requests alike. headers are lines
// NAME: VALUE.
type answering struct {
	status  int
	headers string
	body    string
}

func (s answering) header() http.Header {
	h := http.Header{}
	for line := range strings.SplitSeq(s.headers, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			h.Add(name, value)
		}
	}
	return h
}

// RoundTrip implements http.RoundTripper.
func (s answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		Request: r, Status: strconv.Itoa(s.status), StatusCode: s.status, Header: s.header(), Body: io.NopCloser(strings.NewReader(s.body)),
	}, r.Context().Err()
}

// Whatever the input of terminal.submit and the note of an attempt before are, it is refused, or what is
// typed is no key of a terminal and there is a limit to it.
func FuzzSubmit(f *testing.F) {
	f.Add(`{"target":"agents:0.1","text":"do\r\nit {token}","worker":" Claude"}`, `{"delivery":"pending","reason":"send_unconfirmed","unconfirmed":2}`)
	f.Add(`{"text":"x","presses":0,"attempts":1,"reply":false,"ready":"a+","confirm":"(?m)^b$","active":"c"}`, `{"page":4}`)
	f.Add(`{"text":"x\u001b[A\u009b\u007f","presses":-1}`, `[1]`)
	f.Fuzz(func(t *testing.T, input, note string) {
		h, err := newTerminalSubmit(&Config{Slots: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		h.panes.sessions["default"] = []string{"agents"}
		a := attempt("terminal.submit", input)
		a.Spec.Heartbeat = json.RawMessage(note)
		s, err := h.submission(workOf(a))
		if err != nil {
			if e := failureType(err); e != "invalid_input" && e != "terminal_forbidden" {
				t.Errorf("it is refused as %s", e)
			}
			return
		}
		if s.Socket != "default" || s.presses < 1 || s.presses > 10 || s.Attempts < 1 || s.unconfirmed < 0 || len(s.text) > maxSubmit {
			t.Errorf("%+v", s)
		}
		if strings.TrimSpace(s.text) == "" || strings.ContainsFunc(s.text, unicode.IsControl) {
			t.Errorf("%q would be typed", s.text)
		}
	})
}

// Whatever the input of exec.command is, it is refused, or what would run is an allowed program, has no variable but
// those that it may have, and ends.
func FuzzCommand(f *testing.F) {
	f.Add(`{"command":["/bin/sh","-c","exit"],"stdin":{"a":1},"env":{"LANG":"C"},"expect":[1],"json":true,"map":"input","timeout":"1s"}`)
	f.Add(`{"command":["/bin/sh\u0000"],"env":{"LANG":"\u0000"},"timeout_ms":-1}`)
	f.Add(`{"command":["sh"],"env":{"PATH":"/tmp"},"bogus":1}`)
	f.Fuzz(func(t *testing.T, input string) {
		e := &execCommand{rules: Commands{Allow: []string{shell}, Env: []string{"LANG"}}}
		c, err := e.command(attempt("exec.command", input))
		if err != nil {
			if typ := failureType(err); typ != "invalid_input" && typ != "command_forbidden" {
				t.Errorf("it is refused as %s", typ)
			}
			return
		}
		if c.Command[0] != shell || c.limit <= 0 {
			t.Errorf("%q would run for %v", c.Command, c.limit)
		}
		for _, v := range c.env {
			name, value, _ := strings.Cut(v, "=")
			if name != "LANG" && name != "TRACEPARENT" && !strings.HasPrefix(name, "HEDDLE_") || strings.ContainsRune(value, 0) {
				t.Errorf("it would have %q", v)
			}
		}
		if len(c.Stdin) > 0 && !json.Valid(c.Stdin) {
			t.Errorf("it would read %q", c.Stdin)
		}
	})
}
