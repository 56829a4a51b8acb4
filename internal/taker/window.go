package taker

import (
	"encoding/binary"
	"time"
)

const (
	// windowMax bounds the tokens that a window remembers.
	windowMax = 1 << 16
	// windowMin is what a window has room for at first.
	windowMin = 1 << 6
)

// window is a bounded memory of tokens. With as many added as forgotten a map
// spends most of its time on what was deleted from it; so a ring has the tokens
// in their order, and an index beside it says where. As a token's key is a MAC,
// it is spread well by itself.
type window struct {
	keep   time.Duration
	origin time.Time // what times count from

	ring   []remembered // its length is a power of two
	oldest int          // place in the ring
	count  int

	// index is twice as long as the ring. A key is in the first slot free for it
	// from its home on; a slot has the key's place in the ring plus one, or zero.
	index []uint32
}

type remembered struct {
	key   key
	since time.Duration // the origin
}

func newWindow(keep time.Duration) window { return window{keep: keep, origin: time.Now()} }

func (w *window) add(k key, now time.Time) {
	since := now.Sub(w.origin)
	w.forget(since)
	if w.count == len(w.ring) {
		w.grow()
	}
	slot := w.find(k)
	if w.index[slot] != 0 {
		return // it is remembered since earlier
	}
	place := (w.oldest + w.count) & (len(w.ring) - 1)
	w.ring[place] = remembered{k, since}
	w.index[slot] = uint32(place + 1)
	w.count++
}

func (w *window) has(k key, now time.Time) bool {
	if w.count == 0 {
		return false
	}
	w.forget(now.Sub(w.origin))
	return w.index[w.find(k)] != 0
}

// forget drops what is too old or too much.
func (w *window) forget(now time.Duration) {
	for w.count > 0 {
		first := &w.ring[w.oldest]
		if w.count < windowMax && now-first.since < w.keep {
			return
		}
		w.free(w.find(first.key))
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
	w.index = make([]uint32, 2*len(ring))
	for i := range w.count {
		w.index[w.find(ring[i].key)] = uint32(i + 1)
	}
}

// find is the slot of a key, or the free one that is to be its own.
func (w *window) find(k key) int {
	slot := w.home(k)
	for w.index[slot] != 0 && w.ring[w.index[slot]-1].key != k {
		slot = w.behind(slot)
	}
	return slot
}

// free empties a slot. A key behind it moves there if it could not be found any
// more across the gap: if its home is not between the two.
func (w *window) free(gap int) {
	for slot := w.behind(gap); w.index[slot] != 0; slot = w.behind(slot) {
		home := w.home(w.ring[w.index[slot]-1].key)
		if w.distance(home, slot) >= w.distance(gap, slot) {
			w.index[gap] = w.index[slot]
			gap = slot
		}
	}
	w.index[gap] = 0
}

func (w *window) home(k key) int {
	return int(binary.LittleEndian.Uint32(k[:])) & (len(w.index) - 1)
}

func (w *window) behind(slot int) int { return (slot + 1) & (len(w.index) - 1) }

// distance counts the steps from a slot to a later one.
func (w *window) distance(from, to int) int { return (to - from) & (len(w.index) - 1) }
