package request

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
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
		over, end := context.WithCancel(t.Context()) // there is no other reply
		end()
		told, err := endReply[json.RawMessage, json.RawMessage](over, told(string(raw)), "w")
		if err != nil {
			return
		}
		if !json.Valid(raw) || len(told.Results) > 0 && !json.Valid(told.Results) || len(told.Workflow) > 0 && !json.Valid(told.Workflow) {
			t.Errorf("%q ends with %s and %s", raw, told.Results, told.Workflow)
		}
	})
}

// repeats reports whether an object may have a field twice, in whatever letters.
func repeats(raw []byte, field string) bool {
	return bytes.Count(bytes.ToLower(raw), []byte(field)) > 1 || bytes.Contains(raw, []byte(`\`)) || bytes.ContainsFunc(raw, func(r rune) bool { return r > '~' })
}
