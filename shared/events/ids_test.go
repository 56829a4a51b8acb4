package events_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/events"
)

func TestPrintedIDsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := events.RunnableID(rapid.Uint64Min(1).Draw(t, "runnable"))
		if back, err := events.ParseRunnableID(r.String()); err != nil || back != r {
			t.Fatalf("%s is %d, %v", r, back, err)
		}
		p := events.Position{Epoch: rapid.Uint64().Draw(t, "epoch"), Seq: rapid.Uint64().Draw(t, "seq")}
		if back, err := events.ParsePosition(p.String()); err != nil || back != p {
			t.Fatalf("%s is %v, %v", p, back, err)
		}
	})
	for _, s := range []string{"", "7", "r", "r0", "r-1", "f7", "r7x", "r18446744073709551616"} {
		if id, err := events.ParseRunnableID(s); err == nil {
			t.Errorf("%q is runnable %d", s, id)
		}
	}
	for _, s := range []string{"", "1", "1.", ".1", "1.2.3", "a.b", "-1.2"} {
		if p, err := events.ParsePosition(s); err == nil {
			t.Errorf("%q is position %v", s, p)
		}
	}
}

func TestPositionsOrderByEpochThenSeq(t *testing.T) {
	ascending := []events.Position{{}, {Epoch: 0, Seq: 1}, {Epoch: 1, Seq: 0}, {Epoch: 1, Seq: 9}, {Epoch: 2, Seq: 1}}
	for i, p := range ascending {
		for j, q := range ascending {
			if p.Before(q) != (i < j) {
				t.Errorf("%v before %v: %v", p, q, p.Before(q))
			}
		}
	}
}

func TestWorkflowIDs(t *testing.T) {
	for _, id := range []string{"a", "A-1", "order/7", "a.b_c:d", "x_", strings.Repeat("x", 255)} {
		if err := events.CheckWorkflowID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{"", "_x", "pool:a", "schedule:a", "a b", "ä", "a\n", strings.Repeat("x", 256)} {
		if err := events.CheckWorkflowID(id); !errors.Is(err, events.ErrWorkflowID) {
			t.Errorf("%q is allowed", id)
		}
	}
}
