package equivalence

import (
	"time"

	"github.com/heddle-run/heddle/test/sim/disk"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// fate is how one incarnation of a process ends.
type fate struct {
	how      ending
	requests int           // untilRequest: it ends at so many requests that matter
	after    bool          // untilRequest: the last request still leaves
	lives    time.Duration // others: so long
	down     time.Duration // until the next incarnation

	unsynced int        // percent of the disk's unsynced data that survives a kill
	wiped    bool       // the disk does not survive a kill at all
	damage   damage     // what else the next incarnation finds, however this one ends
	old      *disk.Disk // outdated: an earlier state of the disk

	fills time.Duration // until the disk is full
	full  time.Duration // how long; 0: it never is

	loses bool // input logs lose records before the next incarnation
}

type ending int

const (
	atRequest ending = iota // killed
	atTime                  // killed
	inOrder                 // asked to stop
	cutOff                  // not killed, but without a network for a while
)

// faultPlan says what is done to a deployment; the zero value: nothing.
type faultPlan struct {
	planners  [][]fate // by slot: its incarnations before the last one
	workers   [][]fate
	repeats   bool  // deliveries come again, and late
	losses    bool  // the input logs lose their oldest records, read or not
	strangers bool  // records are in the input logs that nobody understands
	clocks    drift // how far the clocks of planners jump
	network   int   // one of so many requests meets with a bad network; 0: none
}

// steady reports whether no worker is disturbed, nothing that it says is lost, and an
// owner's time passes as a worker's does. What waits by record time, as timeouts
// and the silence of workers do, is over early where a clock has jumped ahead or
// was set right from behind: J2 bounds how far clocks differ, not that they jump.
func (f *faultPlan) steady() bool {
	return len(f.workers) == 0 && !f.losses && f.network == 0 && f.clocks == exact
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

// diskFates draws how planners end whose disks do not keep what they should.
// They mostly end in order, or live for long: what is not there yet cannot be
// damaged.
func diskFates(d workload.Dice, n int) []fate {
	all := plannerFates(d, n)
	for i := range all {
		f := &all[i]
		f.how, f.lives = workload.Pick(d, atRequest, atTime, inOrder, inOrder), d.Millis(0, 20_000)
		f.damage = workload.Pick(d, none, outdated, flipped, flipped, truncated, truncated, rotTables, rotOthers)
		f.wiped = f.wiped && f.damage == none
		if d.One(2) {
			f.fills, f.full = d.Millis(0, 8000), d.Millis(3000, 15_000)
		}
	}
	return all
}

// lossyFates draws how planners end that miss what input logs lose meanwhile.
func lossyFates(d workload.Dice, n int) []fate {
	all := plannerFates(d, n)
	for i := range all {
		all[i].loses = d.One(2)
	}
	return all
}

// clockFates draws how planners end whose clocks jump. Where no jump is far, some
// are not heard for a while instead, and others take over from them: what such a
// planner still tells is lawful as far as its lease is, which with a far jump is
// no promise (E5). What then remains is for test/sim, which draws both.
func clockFates(d workload.Dice, how drift, n int) []fate {
	all := plannerFates(d, n)
	for i := range all {
		if how == near && d.One(2) {
			all[i].how, all[i].down = cutOff, d.Millis(0, 20_000)
		}
	}
	return all
}

func workerFates(d workload.Dice, n int) []fate {
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
