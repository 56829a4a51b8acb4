package client

import (
	"bytes"
	"encoding/json"
	"testing"
)

// A stream of events is taken apart, or fails; an event gives back what it was
// read from.
func FuzzEvent(f *testing.F) {
	f.Add([]byte("id: 1-1.2-0\ndata: {\"position\":\"1.2\",\"time\":\"2026-01-02T03:04:05Z\",\"type\":\"InputAccepted\",\"a\":[1]}"))
	f.Add([]byte(": still here\ndata\ndata: {\ndata:}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
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
