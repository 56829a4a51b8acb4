package taker

import "time"

// windowMax bounds the tokens that a window remembers.
const windowMax = 1 << 16

// window is a bounded memory of tokens.
type window struct {
	keep  time.Duration
	known map[key]struct{}
	queue []remembered // oldest first
}

type remembered struct {
	key   key
	since time.Time
}

func newWindow(keep time.Duration) window { return window{keep: keep, known: map[key]struct{}{}} }

func (w *window) add(k key, now time.Time) {
	w.forget(now)
	if _, ok := w.known[k]; ok {
		return
	}
	w.known[k] = struct{}{}
	w.queue = append(w.queue, remembered{k, now})
}

func (w *window) has(k key, now time.Time) bool {
	if len(w.queue) == 0 {
		return false
	}
	w.forget(now)
	_, ok := w.known[k]
	return ok
}

// forget drops what is too old or too much.
func (w *window) forget(now time.Time) {
	for len(w.queue) > 0 {
		oldest := w.queue[0]
		if len(w.queue) < windowMax && now.Sub(oldest.since) < w.keep {
			return
		}
		delete(w.known, oldest.key)
		w.queue = w.queue[1:]
	}
}
