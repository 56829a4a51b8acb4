package readiness

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Look is what a look at the cluster has found.
type Look struct {
	At   time.Time
	Lag  map[string]int64 // by input topic: records that planners have not committed, over its partitions; Archive: those of the journal that archivers have not; nil: it is not known
	Dead int64            // records that the dead letter topic has ever had, over its partitions; below 0: it is not known
	Down []string         // what is wrong with partitions of topics, one each
}

// Trend is what looks tell together.
type Trend struct {
	DeadLetters string // name of the topic

	looks []Look // of the last deadWindow, oldest first
}

// Archive stands for the archivers' group among what lags.
const Archive = "archive"

const (
	// growsFor is how long a lag has to grow, at every look, before it is warned of.
	growsFor = time.Minute

	// leastGrowth is by how many records: a checkpoint commits thousands at a time.
	leastGrowth = 1000

	// deadWindow is for how long new dead letters are warned of.
	deadWindow = 10 * time.Minute

	// mostDown is how many partitions are named.
	mostDown = 10
)

// Add adds the newest look. What is not known in it is as it was.
func (t *Trend) Add(l Look) {
	if n := len(t.looks); n > 0 {
		if l.Dead < 0 {
			l.Dead = t.looks[n-1].Dead
		}
		if l.Lag == nil {
			l.Lag = t.looks[n-1].Lag
		}
	}
	t.looks = append(t.looks, l)
	old := slices.IndexFunc(t.looks, func(o Look) bool { return l.At.Sub(o.At) <= deadWindow })
	t.looks = slices.Delete(t.looks, 0, old)
}

// Warnings are what an operator should know of the cluster and does not block.
func (t *Trend) Warnings() []string {
	if len(t.looks) == 0 {
		return nil
	}
	newest := t.looks[len(t.looks)-1]
	list := slices.Clone(newest.Down[:min(len(newest.Down), mostDown)])
	if more := len(newest.Down) - mostDown; more > 0 {
		list = append(list, fmt.Sprintf("%d more partitions of topics are like that", more))
	}
	for _, topic := range slices.Sorted(maps.Keys(newest.Lag)) {
		since, grows := t.grows(topic)
		took := newest.At.Sub(since).Round(time.Second)
		switch {
		case grows && topic == Archive:
			list = append(list, fmt.Sprintf("the archive has come to lag more and more behind the journal for %s, by %d records now: nothing is lost, and nothing is deleted for it; is an archiver running?", took, newest.Lag[topic]))
		case grows:
			list = append(list, fmt.Sprintf("the lag of %s has grown for %s, to %d records: more comes than planners decide", topic, took, newest.Lag[topic]))
		}
	}
	if n := newest.Dead - t.looks[0].Dead; n > 0 && t.looks[0].Dead >= 0 {
		list = append(list, fmt.Sprintf("%d records came to %s within the last %s: see heddle dlq",
			n, t.DeadLetters, newest.At.Sub(t.looks[0].At).Round(time.Second)))
	}
	return list
}

// grows reports since when the lag of a topic has not shrunk at any look, where that is long enough, and it is more
// now.
func (t *Trend) grows(topic string) (since time.Time, grows bool) {
	newest := len(t.looks) - 1
	first := newest
	for first > 0 && t.looks[first-1].Lag != nil && t.looks[first-1].Lag[topic] <= t.looks[first].Lag[topic] {
		first--
	}
	since = t.looks[first].At
	grows = t.looks[newest].At.Sub(since) >= growsFor && t.looks[newest].Lag[topic]-t.looks[first].Lag[topic] >= leastGrowth
	return since, grows
}
