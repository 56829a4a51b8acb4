package view

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// TestStatusesOfThePlannerAreScanned fails when events.Status changes and
// scanRow does not.
func TestStatusesOfThePlannerAreScanned(t *testing.T) {
	for name, change := range map[string]func(*events.Status){
		"plain":    func(*events.Status) {},
		"labelled": func(s *events.Status) { s.Labels = json.RawMessage(`{"team":"x,\"partition\":1","size":2}`) },
		"failed": func(s *events.Status) {
			s.Failure = &events.Failure{Component: "a", Runnable: "r7", Error: events.TaskError{Message: `no "ключ"`}}
		},
		"empty": func(s *events.Status) { *s = events.Status{CreatedAt: s.CreatedAt} },
	} {
		s := testStatus("a/1")
		change(&s)
		want, status := rowOf(t, s)
		if got, ok := scanRow(status); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, ok, want)
		}
	}
}

// rowOf is the row of a status, and the status as JSON.
func rowOf(t *testing.T, s events.Status) (r row, status []byte) {
	t.Helper()
	status, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = unmarshalRow(status); err != nil {
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

func FuzzScannedRowIsTheRow(f *testing.F) {
	s := testStatus("a")
	for _, labels := range []string{"", `{}`, `{"a":{"b":1,"partition":2},"c":"\\"}`} {
		s.Labels = json.RawMessage(labels)
		status, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(status)
		f.Add(bytes.Replace(status, []byte("null"), []byte(`{"error":{"message":"\""}}`), 1))
	}
	f.Fuzz(func(t *testing.T, status []byte) {
		got, ok := scanRow(status)
		if !ok {
			return
		}
		if want, err := unmarshalRow(status); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v, %v", status, got, want, err)
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
