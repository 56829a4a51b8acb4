package sim

import "time"

// trims holds that an owner deletes nothing of its logs that is younger than it may
// be, by its own clock. What is deleted too far shows itself: somebody misses it.
func (n *node) trims(at place, to int64) {
	s := n.w.settings().Complete()
	keep := 2 * s.Window
	if at.topic == n.c.names.Journal() {
		keep = s.History
	}
	n.mu.Lock()
	youngest := time.Now().Add(n.skew - keep)
	n.mu.Unlock()
	for _, rec := range n.c.visible(at) {
		if rec.Offset < to && rec.Timestamp.After(youngest) {
			n.w.failAbout(ofPartition(at.partition), "%s deletes %s@%d of %v: it is to stay for %v", n.name, at, rec.Offset, rec.Timestamp, keep)
			return
		}
	}
}
