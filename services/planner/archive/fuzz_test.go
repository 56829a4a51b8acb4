package archive

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// What can be folded answers; what cannot is an error.
func FuzzEntries(f *testing.F) {
	start := &events.Record{Position: events.Position{Epoch: 1, Seq: 2}, Workflow: "w", Events: []events.Event{
		&events.WorkflowStarted{Digest: "d", Name: "n"}, &events.InputAccepted{Fact: 1, Value: []byte("1")},
	}}
	f.Add(Encode(start), []byte(`{"name":"n","components":{"a":{"expr":"input"}}}`))
	f.Add([]byte{}, []byte{})
	f.Add([]byte{255, 1}, []byte("{}"))
	f.Fuzz(func(t *testing.T, entry, definition []byte) {
		rec, err := Decode(entry)
		if err != nil {
			return
		}
		if back, err := Decode(Encode(rec)); err != nil || back.Position != rec.Position {
			t.Fatalf("%x is read and written as something else: %v", entry, err)
		}
		fold := NewFolder(0).Begin("w")
		with := func(string) ([]byte, bool) { return definition, len(definition) > 0 }
		Components(rec, with)
		if fold.Add(rec, with) != nil {
			return
		}
		if s, _, err := fold.Outcome(); err == nil && s.ID != "w" {
			t.Errorf("the summary is of %q", s.ID)
		}
	})
}

// The log of a run has one name.
func FuzzRunID(f *testing.F) {
	f.Add(RunID(Run{"a/b", events.Position{Epoch: 1, Seq: 2}, "0123abcd"}))
	f.Add("run~~~")
	f.Fuzz(func(t *testing.T, id string) {
		r, err := ParseRunID(id)
		if err != nil {
			return
		}
		back, err := ParseRunID(RunID(r))
		if err != nil || back != r {
			t.Errorf("%q is %+v, and that is %q", id, r, RunID(r))
		}
	})
}

// A snapshot that is read is written again; its labels are ones.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(`{"summary":{"id":"w","status":"idle","labels":{"a":"b","n":3}},"results":{},"over":true}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSnapshot(b)
		if err != nil {
			return
		}
		var sum events.Summary
		if json.Unmarshal(s.Summary, &sum) != nil {
			return
		}
		s.Labels(&sum)
		Searched(&sum)
		once, err := s.Encode()
		if err != nil {
			return // a message within that is no JSON
		}
		again, err := ParseSnapshot(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%s is written as %s: %v", once, twice, err)
		}
	})
}
