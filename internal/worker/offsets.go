package worker

import "github.com/twmb/franz-go/pkg/kgo"

// partition is the workers' view of one partition of a queue, from its
// assignment to its revocation: which places are not done yet (E3). Records
// finish out of order; what may be committed is the lowest that is not done.
type partition struct {
	number int32
	gone   bool // revoked or lost: nothing of it may be committed any more

	first   uint64  // number of pending[0], counted from the assignment
	low     int     // place in pending of the lowest that is not done
	pending []entry // in log order

	done  kgo.EpochOffset // what may be committed; zero: nothing is done up to a place
	noted []interval      // what the predecessor has done, as far as it was not taken yet

	changes   uint64 // of what is done
	committed uint64 // of them, known to be committed
}

type entry struct {
	offset int64
	epoch  int32
	done   bool
}

// place is where one record of an attempt stands.
type place struct {
	partition *partition
	number    uint64
}

// enter notes the next record of the partition.
func (p *partition) enter(offset int64, leaderEpoch int32) place {
	p.pending = append(p.pending, entry{offset: offset, epoch: leaderEpoch})
	return place{p, p.first + uint64(len(p.pending)) - 1}
}

// finish notes that the record there needs no redelivery any more.
func (at place) finish() {
	p := at.partition
	if p.gone {
		return
	}
	p.pending[at.number-p.first].done = true
	p.changes++
	n := p.low
	for n < len(p.pending) && p.pending[n].done {
		n++
	}
	if n == p.low {
		return
	}
	p.low = n
	last := p.pending[n-1]
	p.done = kgo.EpochOffset{Epoch: last.epoch, Offset: last.offset + 1}
	if 2*n >= len(p.pending) {
		p.forget(n)
	}
}

// forget drops the first n entries and keeps their room.
func (p *partition) forget(n int) {
	p.first += uint64(n)
	p.pending = p.pending[:copy(p.pending, p.pending[n:])]
	p.low = 0
}

// due reports whether there is something to commit.
func (p *partition) due() bool { return p.changes > p.committed }

// point is what is to be committed: an offset, and a note of so many characters at
// most of what is done behind it.
func (p *partition) point(most int) (at kgo.EpochOffset, note string) {
	at = p.done
	if at.Offset == 0 { // the first is not done
		at = kgo.EpochOffset{Epoch: p.pending[p.low].epoch, Offset: p.pending[p.low].offset}
	}
	return at, encodeNote(at.Offset, p.behind(), most)
}
