package sim

import "time"

// trimTime is how long an owner may take from its look at the clock to the deletion
// that follows from it: the questions in between are given up sooner.
const trimTime = 10 * time.Second

// trims holds that an owner deletes nothing of its logs that is younger than it may
// be, by its own clock when it looked. What is deleted too far shows itself: somebody
// misses it.
func (n *node) trims(at place, to int64) {
	s := n.w.settings().Complete()
	keep := 2 * s.Window
	if at.topic == n.c.names.Journal() {
		keep = s.History
	}
	n.mu.Lock()
	skew := n.skew
	if time.Since(n.set) < trimTime {
		skew = max(skew, n.was)
	}
	n.mu.Unlock()
	youngest := time.Now().Add(skew - keep)
	for _, rec := range n.c.visible(at) {
		if rec.Offset < to && rec.Timestamp.After(youngest) {
			n.w.failAbout(ofPartition(at.partition), "%s deletes %s@%d of %v: it is to stay for %v", n.name, at, rec.Offset, rec.Timestamp, keep)
			return
		}
	}
}

// setSkew sets a planner's clock, whose lock the caller has.
func (n *node) setSkew(skew time.Duration) { n.was, n.skew, n.set = n.skew, skew, time.Now() }
