package runtime_test

import (
	"testing"

	"github.com/heddle-run/heddle/internal/runtime"
)

func TestRP01RequestNamesALogAndAnOffset(t *testing.T) {
	r, err := runtime.ParseReplayRequest("inbox@17", "commands", "inbox")
	if err != nil || r.Log != "inbox" || r.Offset != 17 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	for _, cursor := range []string{"", "inbox", "inbox@", "inbox@-1", "inbox@x", "journal@3", "@3"} {
		if r, err := runtime.ParseReplayRequest(cursor, "commands", "inbox"); err == nil {
			t.Errorf("%q became %+v", cursor, r)
		}
	}
}

func TestRP02NoCursorIsNull(t *testing.T) {
	if p := (runtime.ReplayState{Pending: 5}).Published(); p.Cursor != nil || p.PendingEvents != 5 || p.LastReplayedEventID != nil {
		t.Errorf("published %+v", p)
	}
	if c := runtime.ReplayCursor("log", 3, 9); c != "log/3@9" {
		t.Errorf("cursor %s", c)
	}
}
