package equivalence

import (
	"time"

	"github.com/heddle-run/heddle/internal/sim/workload"
)

// fate is how one incarnation of a process ends.
type fate struct {
	how      ending
	requests int           // untilRequest: it ends at so many requests that matter
	after    bool          // untilRequest: the last request still leaves
	lives    time.Duration // others: so long
	down     time.Duration // until the next incarnation
	unsynced int           // percent of the disk's unsynced data that survives a kill
	wiped    bool          // the disk does not survive at all
}

type ending int

const (
	atRequest ending = iota // killed
	atTime                  // killed
	inOrder                 // asked to stop
	cutOff                  // takers: not killed, but without a network for a while
)

// faults says what is done to a deployment; the zero value: nothing.
type faults struct {
	planners [][]fate // by slot: its incarnations before the last one
	takers   [][]fate
	repeats  bool // deliveries come again, and late
}

// plannerFates draws how planners end.
func plannerFates(d workload.Dice, n int) []fate {
	var all []fate
	for range n {
		f := fate{how: workload.Pick(d, atRequest, atRequest, atRequest, atTime, inOrder), unsynced: workload.Pick(d, 0, 50, 100), wiped: d.One(5)}
		f.requests, f.after = 1+d.IntN(1<<d.IntN(10)), d.One(2)
		f.lives, f.down = d.Millis(0, 15000), d.Millis(0, 3000)
		all = append(all, f)
	}
	return all
}

func takerFates(d workload.Dice, n int) []fate {
	var all []fate
	for range n {
		f := fate{how: workload.Pick(d, atRequest, atTime, atTime, inOrder, cutOff), after: d.One(2)}
		f.requests = 1 + d.IntN(1<<d.IntN(7))
		f.lives, f.down = d.Millis(0, 12000), d.Millis(0, 9000)
		if f.how == cutOff { // perhaps for longer than its silence is suffered
			f.down = d.Millis(0, 30_000)
		}
		all = append(all, f)
	}
	return all
}
