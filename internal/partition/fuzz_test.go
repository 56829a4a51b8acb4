package partition

import (
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// The marker of a checkpoint has one form or is refused. A published lease and a
// request for a replay are read or not.
func FuzzRows(f *testing.F) {
	all := func() []wire.Message { return []wire.Message{&marker{}} }
	f.Add([]byte{})
	f.Add(wire.Marshal(&marker{Topic: []byte("t"), Epochs: []epochRow{{1, 2, 3}}, Cursors: []cursorRow{{1, 7, 7}}}))
	f.Add([]byte(`{"authority":{"owner":"o","epoch":1,"leased_until":"2026-01-02T03:04:05Z"}}`))
	for _, s := range []string{"commands@0", "inbox@9223372036854775807", "inbox@-1", "commands@+1", "@", "journal@1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		wiretest.OneForm(t, b, all)
		if l, err := publishedLease(b); err == nil && l.Held() != (l.LeasedUntil > 0) {
			t.Errorf("%q is the lease %+v", b, l)
		}
		if r, err := runtime.ParseReplayRequest(string(b), "commands", "inbox"); err == nil {
			checkRequest(t, r)
		}
	})
}

// checkRequest holds that a request for a replay is read from its printed form.
func checkRequest(t *testing.T, r runtime.ReplayRequest) {
	t.Helper()
	again, err := runtime.ParseReplayRequest(fmt.Sprintf("%s@%d", r.Log, r.Offset), "commands", "inbox")
	if err != nil || again != r || r.Offset < 0 {
		t.Errorf("%+v is read as %+v, %v", r, again, err)
	}
}
