package equivalence

import "time"

// maxKills bounds how often takers are killed in one run.
const maxKills = 4

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
func (d dice) plannerFates(n int) []fate {
	var all []fate
	for range n {
		f := fate{how: pick(d, atRequest, atRequest, atRequest, atTime, inOrder), unsynced: pick(d, 0, 50, 100), wiped: d.one(5)}
		f.requests, f.after = 1+d.IntN(1<<d.IntN(10)), d.one(2)
		f.lives, f.down = d.millis(0, 15000), d.millis(0, 3000)
		all = append(all, f)
	}
	return all
}

func (d dice) takerFates(n int) []fate {
	var all []fate
	for range n {
		f := fate{how: pick(d, atRequest, atTime, atTime, inOrder, cutOff), after: d.one(2)}
		f.requests = 1 + d.IntN(1<<d.IntN(7))
		f.lives, f.down = d.millis(0, 12000), d.millis(0, 9000)
		if f.how == cutOff { // perhaps for longer than its silence is suffered
			f.down = d.millis(0, 30_000)
		}
		all = append(all, f)
	}
	return all
}
