package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A stream of events is taken apart, or fails; an event gives back what it was
// read from. Whatever body a refusal has, it is an *Error that says something.
func FuzzEvent(f *testing.F) {
	f.Add([]byte("id: 1-1.2-0\ndata: {\"position\":\"1.2\",\"time\":\"2026-01-02T03:04:05Z\",\"type\":\"InputAccepted\",\"a\":[1]}\n\ndata: {}\n\n"))
	f.Add([]byte(": still here\ndata\ndata: {\ndata:}"))
	f.Add([]byte(`{"type":"urn:heddle:problem:not_found","detail":"d","errors":[{"path":"p","message":"m"}],"workflow":{"id":"w"}}`))
	f.Add([]byte(`{"type":"about:blank"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		refusal := problem(&http.Response{StatusCode: 404, Status: "404 Not Found", Request: httptest.NewRequest(http.MethodGet, "/", nil), Body: io.NopCloser(bytes.NewReader(raw))})
		if e, ok := errors.AsType[*Error](refusal); !ok || e.Code == "" || e.Status != 404 || e.Error() == "" {
			t.Errorf("%q is the refusal %+v", raw, refusal)
		}
		var last string
		_, _ = readEvents(bytes.NewReader(raw), &last, func(e Event) bool { // an error ends the connection
			if b, err := e.MarshalJSON(); err != nil || !json.Valid(b) || len(b) > len(raw) {
				t.Errorf("%q has an event that comes back as %q, %v", raw, b, err)
			}
			return true
		})
		if !bytes.Contains(raw, []byte(last)) {
			t.Errorf("%q ends with the id %q", raw, last)
		}
	})
}

// An event that does not end is an error before it fills the memory.
func TestAnEventWithoutEndIsRefused(t *testing.T) {
	line := append(bytes.Repeat([]byte("data: x"), 100), '\n')
	endless := bytes.NewReader(bytes.Repeat(line, 2*maxEvent/len(line)))
	var last string
	if _, err := readEvents(endless, &last, func(Event) bool { return true }); err == nil {
		t.Error("it is read")
	}
	if read := 2*maxEvent - endless.Len(); read > maxEvent+1<<20 {
		t.Errorf("%d bytes of it are read, the limit is %d", read, maxEvent)
	}
}

// An event that cannot be read ends the events: asked for again, it would be the
// same one, for ever.
func TestAnEventThatCannotBeReadEndsTheEvents(t *testing.T) {
	for name, stream := range map[string]string{
		"no JSON":       "data: {\n\n",
		"a long line":   "data: " + strings.Repeat("x", maxEvent+1) + "\n\n",
		"of many lines": strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 9) + "\n",
	} {
		asked := 0
		hc := &http.Client{Transport: roundTrip(func(r *http.Request) *http.Response {
			if asked++; asked > 1 {
				stream = "data: {\"type\":\"WorkflowDeleted\"}\n\n" // ends it as well
			}
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(stream)), Request: r}
		})}
		tr, err := newHTTPTransport(Options{URL: "http://gateway", HTTPClient: hc})
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Events(t.Context(), "w", func(Event) bool { return true }); !errors.Is(err, errEvent) || asked != 1 {
			t.Errorf("%s: asked %d times, %v", name, asked, err)
		}
	}
}

// roundTrip is a server without a network.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
