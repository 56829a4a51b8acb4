package plannerd

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/services/planner/limits"
	"github.com/heddle-run/heddle/shared/events"
)

// A breaker that opens is a line of the log with its name, and a count without it.
func TestABreakerThatOpensIsSeen(t *testing.T) {
	var out bytes.Buffer
	o := newObserver(slog.New(slog.NewTextHandler(&out, nil)), nil)
	rec := &events.Record{Workflow: events.KeyOf(events.BreakerKey, "prices"), Position: events.Position{Epoch: 1, Seq: 7}, Time: 5000, Events: []events.Event{
		&events.PermitOver{}, &events.BreakerTurned{To: events.BreakerOpen, Failures: 3, Until: 15_000},
	}}
	o.Observe(rec, limits.Machine{}.Tell(nil, nil, rec, false, nil))
	rec.Events = []events.Event{&events.BreakerTurned{To: events.BreakerClosed}}
	o.Observe(rec, limits.Machine{}.Tell(nil, nil, rec, false, nil))
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{
		`level=INFO msg="breaker opened" breaker=prices record=1.7 failures=3 until=1970-01-01T00:00:15.000Z`,
		`level=INFO msg="breaker closed" breaker=prices record=1.7 failures=0`,
	} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("line %d of the log is %s", i, lines[i])
		}
	}
	if got := collected(t, o.breakers); got[" opened"] != 1 || got[" closed"] != 1 || len(got) != 2 {
		t.Errorf("counted are %v", got)
	}
}
