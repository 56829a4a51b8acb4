package events_test

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/heddle-run/heddle/shared/events"
)

// What reads as an id, a place or a token is written as it was read.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{"r7", "1.2", "18446744073709551615.1", "r0", "w/a:b", "pool:x", "_partition/3", `"30s"`, "9223372036854775807", `"a\u0041"`, "null"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := events.ParseRunnableID(s); err == nil {
			if again, err := events.ParseRunnableID(id.String()); err != nil || again != id {
				t.Errorf("%q is %v, then %v, %v", s, id, again, err)
			}
		}
		if workflow, run, err := events.ParseNotices(s); err == nil {
			if again, same, err := events.ParseNotices(events.NoticesOf(workflow, run)); err != nil || again != workflow || same != run {
				t.Errorf("%q is %q of run %s, and again %q of %s, %v", s, workflow, run, again, same, err)
			}
		}
		if kind, name, err := events.ParseKeyID(s); err == nil && events.KeyOf(kind, name) != s {
			t.Errorf("%q is the key %q of the kind %q", s, name, kind)
		}
		if at, err := events.ParsePosition(s); err == nil {
			if again, err := events.ParsePosition(at.String()); err != nil || again != at {
				t.Errorf("%q is %v, then %v, %v", s, at, again, err)
			}
		}
		if b, err := events.ParseTokenText(s); err == nil {
			if again, err := events.ParseTokenText(events.TokenText(b)); err != nil || string(again) != string(b) {
				t.Errorf("%q is %x, then %x, %v", s, b, again, err)
			}
		}
		if id, err := events.ParseRequestID(s); err == nil && (id.Workflow == "" || !utf8.ValidString(id.Workflow)) {
			t.Errorf("%q is a request of %+v", s, id)
		}
		if events.CheckWorkflowID(s) == nil && (s == "" || len(s) > events.MaxWorkflowID) {
			t.Errorf("%q is a workflow's ID", s)
		}
		var want string
		wrong := json.Unmarshal([]byte(s), &want)
		if got, err := events.ParseText(json.RawMessage(s)); (err == nil) != (wrong == nil) || err == nil && got != want {
			t.Errorf("%q says %q, %v; want %q, %v", s, got, err, want, wrong)
		}
		var d events.Duration
		if json.Valid([]byte(s)) && d.UnmarshalJSON([]byte(s)) == nil {
			var again events.Duration
			b, err := d.MarshalJSON()
			if err != nil || again.UnmarshalJSON(b) != nil || again != d {
				t.Errorf("%s is %v, then %v, %v", s, time.Duration(d), time.Duration(again), err)
			}
		}
	})
}
