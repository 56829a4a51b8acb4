package sim

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/calls"
)

// complaints are what an audit says that a test makes.
func complaints(audit func(w *world)) (err error) {
	bubble(func() {
		w := newWorld(options(1))
		audit(w)
		err = w.err()
		w.shutdown()
	})
	return err
}

// Record 1.2 was written at tick 3, and 1.3 at tick 30.
func TestNobodyMayBeToldOfARecordBeforeItIsWritten(t *testing.T) {
	written := map[events.Position]int64{{Epoch: 1, Seq: 2}: 3, {Epoch: 1, Seq: 3}: 30}
	pause := func(position string) calls.Call {
		return calls.Call{What: "pause", ID: "pause", Reply: says("paused", position)}
	}
	read := calls.Call{What: calls.Asking + "workflow", Reply: says("paused", "1.3")}
	missed := calls.Call{What: calls.Asking + "workflow", Reply: events.Reply{Refusal: &events.Refusal{Code: "not_found"}}}
	for _, c := range []struct {
		name     string
		call     *calls.Call
		doubtful bool
		lawful   bool
	}{
		{"a command that is answered behind its record", of(pause("1.2"), 1, 5), false, true},
		{"a command that is answered before its record is written", of(pause("1.3"), 10, 20), false, false},
		{"a read that is answered before its record is written", of(read, 10, 20), false, false},
		{"a read that is answered as its record is written", of(read, 10, 30), false, false},
		{"a read that is answered behind it", of(read, 10, 31), false, true},
		{"a record that nobody wrote", of(pause("1.4"), 10, 40), false, false},
		{"a record that is void, and the lease was broken", of(pause("1.4"), 10, 40), true, true},
		{"a record that counts, too early, and the lease was broken", of(pause("1.3"), 10, 20), true, false},
		{"an answer that tells of no record", of(missed, 1, 2), false, true},
	} {
		err := complaints(func(w *world) {
			if c.doubtful {
				w.tick()
				w.audit.doubt(0)
			}
			w.audit.auditTold(0, []*calls.Call{c.call}, written)
		})
		if (err == nil) != c.lawful {
			t.Errorf("%s: want lawful %v: %v", c.name, c.lawful, err)
		}
	}
}
