package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
)

// A stream of events is taken apart, or fails; an event gives back what it was
// read from. Whatever body a refusal has, it is an *Error that says something.
func FuzzEvent(f *testing.F) {
	f.Add([]byte("id: 1-1.2-0\ndata: {\"position\":\"1.2\",\"time\":\"2026-01-02T03:04:05Z\",\"type\":\"InputAccepted\",\"a\":[1]}"))
	f.Add([]byte(": still here\ndata\ndata: {\ndata:}"))
	f.Add([]byte(`{"type":"urn:heddle:problem:not_found","detail":"d","errors":[{"path":"p","message":"m"}],"workflow":{"id":"w"}}`))
	f.Add([]byte(`{"type":"about:blank"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		refusal := problem(&http.Response{StatusCode: 404, Status: "404 Not Found", Body: io.NopCloser(bytes.NewReader(raw))})
		if e, ok := errors.AsType[*Error](refusal); !ok || e.Code == "" || e.Status != 404 || e.Error() == "" {
			t.Errorf("%q is the refusal %+v", raw, refusal)
		}
		var e sseEvent
		for line := range bytes.SplitSeq(raw, []byte("\n")) {
			e.field(line)
		}
		if len(e.data) > len(raw) {
			t.Errorf("%q has the data %q", raw, e.data)
		}
		var out Event
		if json.Unmarshal(e.data, &out) != nil {
			return
		}
		if b, err := out.MarshalJSON(); err != nil || !json.Valid(b) {
			t.Errorf("%q comes back as %q, %v", e.data, b, err)
		}
	})
}
