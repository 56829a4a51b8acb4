package worker

import (
	"encoding/binary"
	"time"
)

const (
	// windowMin is what a window has room for at first.
	windowMin = 1 << 6
)

// window is a bounded memory of tokens. With as many added as forgotten a map
// spends most of its time on what was deleted from it; so a ring has the tokens
// in their order, and an index beside it says where. As a token's key is a MAC,
// it is spread well by itself.
type window struct {
	keep   time.Duration
	most   int       // tokens
	origin time.Time // what times count from

	ring   []remembered // its length is a power of two
	oldest int          // place in the ring
	count  int

	// index is twice as long as the ring. A key is in the first slot free for it
	// from its home on.
	index []slot
}

// slot has a key's place in the ring plus one below the first quarter of the key,
// so that a key is looked at in the ring only where it is; or zero.
type slot uint64

func slotOf(k key, place int) slot { return slot(k.head())<<32 | slot(place+1) }

func (s slot) head() uint32 { return uint32(s >> 32) }
func (s slot) place() int   { return int(uint32(s)) - 1 }

func (k *key) head() uint32 { return binary.LittleEndian.Uint32(k[:]) }

type remembered struct {
	key   key
	since time.Duration // the origin
}

func newWindow(keep time.Duration, most int) window {
	return window{keep: keep, most: most, origin: time.Now()}
}

func (w *window) add(k key, now time.Time) {
	since := now.Sub(w.origin)
	w.forget(since)
	if w.count == len(w.ring) {
		w.grow()
	}
	at := w.find(&k)
	if w.index[at] != 0 {
		return // it is remembered since earlier
	}
	place := (w.oldest + w.count) & (len(w.ring) - 1)
	w.ring[place] = remembered{k, since}
	w.index[at] = slotOf(k, place)
	w.count++
}

func (w *window) has(k key, now time.Time) bool {
	_, known := w.when(k, now)
	return known
}

// when is since when a token is remembered.
func (w *window) when(k key, now time.Time) (since time.Time, known bool) {
	if w.count == 0 {
		return time.Time{}, false
	}
	w.forget(now.Sub(w.origin))
	at := w.index[w.find(&k)]
	if at == 0 {
		return time.Time{}, false
	}
	return w.origin.Add(w.ring[at.place()].since), true
}

// forget drops what is too old or too much.
func (w *window) forget(now time.Duration) {
	for w.count > 0 {
		first := &w.ring[w.oldest]
		if w.count < w.most && now-first.since < w.keep {
			return
		}
		w.free(w.find(&first.key))
		w.oldest = (w.oldest + 1) & (len(w.ring) - 1)
		w.count--
	}
}

// grow doubles a ring that is full.
func (w *window) grow() {
	ring := make([]remembered, max(windowMin, 2*len(w.ring)))
	n := copy(ring, w.ring[w.oldest:])
	copy(ring[n:], w.ring[:w.oldest])
	w.ring, w.oldest = ring, 0
	w.index = make([]slot, 2*len(ring))
	for i := range w.count {
		w.index[w.find(&ring[i].key)] = slotOf(ring[i].key, i)
	}
}

// find is where a key is in the index, or the free slot that is to be its own.
func (w *window) find(k *key) int {
	head := k.head()
	at := w.home(head)
	for s := w.index[at]; s != 0; s = w.index[at] {
		if s.head() == head && w.ring[s.place()].key == *k {
			break
		}
		at = w.behind(at)
	}
	return at
}

// free empties a slot. A key behind it moves there if it could not be found any
// more across the gap: if its home is not between the two.
func (w *window) free(gap int) {
	for at := w.behind(gap); w.index[at] != 0; at = w.behind(at) {
		home := w.home(w.index[at].head())
		if w.distance(home, at) >= w.distance(gap, at) {
			w.index[gap] = w.index[at]
			gap = at
		}
	}
	w.index[gap] = 0
}

func (w *window) home(head uint32) int { return int(head) & (len(w.index) - 1) }

func (w *window) behind(at int) int { return (at + 1) & (len(w.index) - 1) }

// distance counts the steps from a slot to a later one.
func (w *window) distance(from, to int) int { return (to - from) & (len(w.index) - 1) }
