package view

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// rowOf is the row of a status, and the status as JSON.
func rowOf(t *testing.T, s events.Summary) (r row, status []byte) {
	t.Helper()
	status, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = parseRow(status); err != nil {
		t.Fatal(err)
	}
	return r, status
}

func TestStatusesOfOthersAreRead(t *testing.T) {
	for _, status := range []string{
		`{"status":"idle","created_at":"2026-01-02T04:04:05+01:00","position":"2.3","definition":{"name":"a"}}`,
		` { "created_at" : "2026-01-02T03:04:05Z", "status":"\u0069dle", "position":"2.3", "definition":{"name":"a"},"more":[{}] } `,
	} {
		r, err := parseRow([]byte(status))
		if err != nil || r.created != 1767323045000 || string(r.status) != "idle" || string(r.name) != "a" ||
			r.position != (events.Position{Epoch: 2, Seq: 3}) {
			t.Errorf("%s: got %+v, %v", status, r, err)
		}
	}
}

func FuzzParsedRow(f *testing.F) {
	s := testStatus("a")
	for _, labels := range []string{"", `{}`, `{"a":{"b":1,"b":2},"c":"\\"}`} {
		s.Labels = json.RawMessage(labels)
		status, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(status)
	}
	f.Fuzz(func(t *testing.T, status []byte) {
		r, err := parseRow(status)
		if err != nil || !r.known {
			return
		}
		if !json.Valid(status) {
			t.Fatalf("%q is no JSON, and is read as %+v", status, r)
		}
		if r.status == nil || r.name == nil {
			t.Errorf("%q: a row without texts: %+v", status, r)
		}
	})
}

func FuzzStoredRow(f *testing.F) {
	f.Add([]byte("{}"), []byte("idle"), []byte("name"), uint64(1), int64(-1))
	f.Fuzz(func(t *testing.T, status, state, name []byte, seq uint64, created int64) {
		want := row{known: true, position: events.Position{Epoch: 1, Seq: seq}, created: created, status: state, name: name}
		b := append(want.appendTo(nil), status...)
		got, text, err := storedRow(b)
		if err != nil || !bytes.Equal(text, status) || !bytes.Equal(got.appendTo(nil), want.appendTo(nil)) {
			t.Errorf("%x: got %+v, %q, %v", b, got, text, err)
		}
		for n := range len(b) - len(status) {
			if _, _, err := storedRow(b[:n]); err == nil {
				t.Errorf("%x is a row", b[:n])
			}
		}
		_, _, _ = storedRow(status) // anything at all: it must not panic
	})
}
