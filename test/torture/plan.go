package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// action is what is done to a process.
type action int

const (
	kill     action = iota // SIGKILL
	start                  // what was killed
	suspend                // SIGSTOP
	wake                   // SIGCONT
	fillDisk               // that it writes to
	freeDisk
)

func (a action) String() string {
	return [...]string{"kill", "start", "suspend", "wake", "fill the disk of", "free the disk of"}[a]
}

// step is one thing that is done at a time since the beginning.
type step struct {
	at    time.Duration
	do    action
	who   int // index of the process
	lasts time.Duration
}

// frailty says what may happen to a process: relative frequencies.
type frailty struct{ kill, suspend, disk int }

func (f frailty) of(a action) int {
	switch a {
	case kill:
		return f.kill
	case suspend:
		return f.suspend
	case fillDisk:
		return f.disk
	case start, wake, freeDisk:
	}
	return 0
}

// planned draws faults at random moments, about one per interval, until the
// end; each is undone by a later step, maybe after the end. It is decided by
// its arguments and the source of randomness alone.
func planned(random *rand.Rand, frailties []frailty, interval, end time.Duration) []step {
	var steps []step
	busy := map[step]time.Duration{} // until when a fault of this kind lasts, by do and who
	for at := time.Duration(0); ; {
		at += time.Duration(random.Int64N(int64(2 * interval)))
		if at >= end {
			break
		}
		do, who := drawFault(random, frailties)
		lasts := drawLength(random, do)
		key := step{do: do, who: who}
		if at <= busy[key] {
			continue
		}
		busy[key] = at + lasts
		steps = append(steps, step{at: at, do: do, who: who, lasts: lasts}, step{at: at + lasts, do: do + 1, who: who})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return int(a.at - b.at) })
	return steps
}

func drawFault(random *rand.Rand, frailties []frailty) (action, int) {
	total := 0
	for _, f := range frailties {
		total += f.kill + f.suspend + f.disk
	}
	n := random.IntN(total)
	for who, f := range frailties {
		for _, do := range []action{kill, suspend, fillDisk} {
			if n -= f.of(do); n < 0 {
				return do, who
			}
		}
	}
	panic("a draw beyond the total")
}

// drawLength is how long a fault lasts.
func drawLength(random *rand.Rand, do action) time.Duration {
	between := func(a, b time.Duration) time.Duration { return a + time.Duration(random.Int64N(int64(b-a))) }
	switch {
	case do == fillDisk:
		return between(time.Second, 10*time.Second)
	case do == kill && random.IntN(2) == 0:
		return 0 // a supervisor that starts at once
	case do == kill:
		return between(0, 4*time.Second)
	}
	switch random.IntN(4) {
	case 0: // longer than a group's session (6 s), shorter than a lease
		return between(6*time.Second, 9*time.Second)
	case 1: // longer than a lease (10 s) and a session one after the other
		return between(11*time.Second, 22*time.Second)
	}
	return between(0, 2*time.Second)
}
