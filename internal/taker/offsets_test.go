package taker

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestWhatMayBeCommittedIsTheLowestThatIsNotDone(t *testing.T) { // E3
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		p := &partition{}
		var open []place
		offset := map[uint64]int64{} // by number of entry
		next := int64(r.IntN(100))
		for range 200 {
			if r.IntN(2) == 0 {
				next += 1 + int64(r.IntN(3)) // markers leave gaps
				at := p.enter(next, 0)
				offset[at.number] = next
				open = append(open, at)
			} else if len(open) > 0 {
				i := r.IntN(len(open))
				open[i].finish()
				open[i] = open[len(open)-1]
				open = open[:len(open)-1]
			}
			lowest := next + 1
			for _, at := range open {
				lowest = min(lowest, offset[at.number])
			}
			if p.done.Offset > lowest {
				t.Fatalf("seed %d: %d may be committed while %d is not done", seed, p.done.Offset, lowest)
			}
			if len(open) == 0 && len(offset) > 0 && p.done.Offset != next+1 {
				t.Fatalf("seed %d: all is done up to %d, but %d may be committed", seed, next, p.done.Offset)
			}
		}
	}
}

func TestAPartitionThatMovedCommitsNothing(t *testing.T) {
	p := &partition{}
	at := p.enter(7, 0)
	p.gone = true
	at.finish()
	if p.due() {
		t.Errorf("%d is due", p.done.Offset)
	}
}

func TestAWindowIsBoundedInTimeAndNumber(t *testing.T) {
	w := newWindow(time.Minute)
	start := time.Unix(0, 0)
	number := func(n int) key { return key{byte(n), byte(n >> 8), byte(n >> 16)} }
	w.add(number(1), start)
	w.add(number(2), start.Add(30*time.Second))
	if !w.has(number(1), start.Add(59*time.Second)) || w.has(number(1), start.Add(time.Minute)) {
		t.Error("a token is not known for a minute")
	}
	if !w.has(number(2), start.Add(time.Minute)) {
		t.Error("a later token was forgotten")
	}
	for n := range windowMax {
		w.add(number(10+n), start.Add(time.Minute))
	}
	if len(w.known) != windowMax || len(w.queue) != windowMax || w.has(number(2), start.Add(time.Minute)) {
		t.Errorf("%d tokens are known, want the newest %d", len(w.known), windowMax)
	}
}
