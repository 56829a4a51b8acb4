package main

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

func TestAPlanIsDecidedByItsSeed(t *testing.T) {
	frailties := []frailty{{suspend: 1}, {kill: 3, suspend: 2, disk: 1}, {kill: 1}}
	for seed := range uint64(50) {
		draw := func() []step {
			return planned(rand.New(rand.NewPCG(seed, 1)), frailties, time.Second, time.Minute)
		}
		if !reflect.DeepEqual(draw(), draw()) {
			t.Fatalf("seed %d gives two plans", seed)
		}
	}
}

// Every fault is drawn, only for processes that may have it, and undone before
// the same one begins again.
func TestAPlanUndoesWhatItDoes(t *testing.T) {
	frailties := []frailty{{suspend: 1}, {kill: 3, suspend: 2, disk: 1}, {kill: 1}}
	drawn := map[action]int{}
	for seed := range uint64(50) {
		open, last := map[step]bool{}, time.Duration(0)
		for _, s := range planned(rand.New(rand.NewPCG(seed, 1)), frailties, time.Second, time.Minute) {
			if s.at < last {
				t.Fatalf("seed %d: a step at %s comes after one at %s", seed, s.at, last)
			}
			last = s.at
			drawn[s.do]++
			switch s.do {
			case kill, suspend, fillDisk:
				key := step{do: s.do, who: s.who}
				if frailties[s.who].of(s.do) == 0 {
					t.Errorf("seed %d: %s process %d, which is not to be", seed, s.do, s.who)
				}
				if open[key] {
					t.Errorf("seed %d: %s process %d again before it is undone", seed, s.do, s.who)
				}
				open[key] = true
			case start, wake, freeDisk:
				delete(open, step{do: s.do - 1, who: s.who})
			}
		}
		if len(open) > 0 {
			t.Errorf("seed %d: never undone: %v", seed, open)
		}
	}
	for do := kill; do <= freeDisk; do++ {
		if drawn[do] == 0 {
			t.Errorf("no plan has to %s", do)
		}
	}
}
