package worker

import (
	"math/rand/v2"
	"testing"
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
