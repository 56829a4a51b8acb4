package request

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// A reply is read or refused, and its id is the one that encoding/json sees.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"id":"1","kind":"drained","workflow":"w","result":"done","body":{"results":{"a":1},"workflow":{"id":"w"}}}`))
	f.Add([]byte(`{"id":"1","kind":"decided","result":"refused","refusal":{"code":"c","message":"m"}}`))
	f.Add([]byte(`{"id":"a\u0041"}`))
	f.Add([]byte(`{"id":"1"x`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		id, ok := replyID(raw)
		r, err := decode(raw)
		if err == nil && r.ID != "" && (!ok || string(id) != r.ID) && !repeats(raw, "id") {
			t.Errorf("%q has the id %q, %v; want %q", raw, id, ok, r.ID)
		}
		end, scanned := asItCame.scan(raw)
		if !scanned {
			return
		}
		var want events.Reply
		var body Drained
		if err := json.Unmarshal(raw, &want); err != nil || want.Kind != events.ReplyDrained {
			t.Fatalf("%q is scanned, %v", raw, err)
		}
		if err := json.Unmarshal(want.Body, &body); err != nil || !bytes.Equal(body.Results, end.Results) || !bytes.Equal(body.Workflow, end.Workflow) {
			t.Errorf("%q ends with %s and %s, %v", raw, end.Results, end.Workflow, err)
		}
	})
}

// repeats reports whether an object may have a field twice, in whatever letters.
func repeats(raw []byte, field string) bool {
	return bytes.Count(bytes.ToLower(raw), []byte(field)) > 1 || bytes.Contains(raw, []byte(`\`)) || bytes.ContainsFunc(raw, func(r rune) bool { return r > '~' })
}
