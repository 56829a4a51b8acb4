package loop

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// names knows which workflows the partition may have rows of. Most commands
// start new ones: what is not in here is not in the store either, and two
// lookups that find nothing are saved. It is made in the background; until then,
// and when there are too many workflows for it, it knows nothing.
type names struct {
	met    Bloom  // since the owner began
	stored *Bloom // what the store had; nil: not known (yet)
}

// note adds the workflow of a record.
func (n *names) note(workflow string) { n.met.Note(workflow) }

// LearnNames takes the names that the store had.
func (p *Processor) LearnNames(stored *Bloom) { p.names.stored = stored }

// fresh says that the partition certainly has no row of the workflow.
func (n *names) fresh(workflow string) bool {
	if n.stored == nil || n.stored.full || n.met.full {
		return false
	}
	h := xxhash.Sum64String(workflow)
	return !n.met.has(h) && !n.stored.has(h)
}

// Bloom is a set of hashes that may say yes wrongly, about once in a hundred
// times, and never no. It grows by layers of double size.
type Bloom struct {
	layers [][]uint64
	room   int  // additions to the last layer before the next one
	full   bool // too much for it: it is empty and of no use
}

// Note adds a workflow.
func (b *Bloom) Note(workflow string) { b.add(xxhash.Sum64String(workflow)) }

// Full reports whether there were too many workflows for it.
func (b *Bloom) Full() bool { return b.full }

const (
	firstWords  = 1 << 11 // of 64 bits: 16 KiB
	mostWords   = 1 << 19 // of a layer: 4 MiB
	bitsPerName = 10
	probes      = 4
)

func (b *Bloom) add(h uint64) {
	if b.full || b.has(h) {
		return
	}
	if b.room == 0 {
		words := firstWords << len(b.layers)
		if words > mostWords {
			*b = Bloom{full: true}
			return
		}
		b.layers = append(b.layers, make([]uint64, words))
		b.room = words * 64 / bitsPerName
	}
	b.room--
	layer := b.layers[len(b.layers)-1]
	for i := range probes {
		at := probe(h, i, len(layer))
		layer[at/64] |= 1 << (at % 64)
	}
}

func (b *Bloom) has(h uint64) bool {
	for _, layer := range b.layers {
		if within(layer, h) {
			return true
		}
	}
	return false
}

func within(layer []uint64, h uint64) bool {
	for i := range probes {
		at := probe(h, i, len(layer))
		if layer[at/64]&(1<<(at%64)) == 0 {
			return false
		}
	}
	return true
}

// probe is the ith bit of a hash in a layer of so many words.
func probe(h uint64, i, words int) uint64 {
	step := bits.RotateLeft64(h, 32) | 1
	return (h + uint64(i)*step) % uint64(words*64)
}
