package plannerd

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// mostLabels is how many values of one label are told apart: a user names definitions and
// queues, and nothing else bounds how many.
const mostLabels = 100

// otherLabel stands for the values beyond.
const otherLabel = "other"

// labelled are metrics by the value of a bounded label. Finding those of a known value takes
// no lock.
type labelled struct {
	mu    sync.Mutex // of those who add
	known atomic.Pointer[map[string]bucket]
	other bucket
}

// bucket has the measures of one value, by the line of observations. Those of an event are
// made when it happens first: what never happens is no series.
type bucket []atomic.Pointer[measures]

// measures are the metrics of one type of event and one label.
type measures struct {
	count   prometheus.Counter
	seconds prometheus.Observer // nil: it has no duration
}

func newBucket() bucket { return make(bucket, len(observations)) }

func newLabelled() *labelled {
	l := &labelled{other: newBucket()}
	l.known.Store(&map[string]bucket{})
	return l
}

// of is the bucket of a value, and the value that it is shown with.
func (l *labelled) of(value string) (bucket, string) {
	known := *l.known.Load()
	if b, ok := known[value]; ok {
		return b, value
	}
	if len(known) >= mostLabels {
		return l.other, otherLabel
	}
	return l.add(value)
}

func (l *labelled) add(value string) (bucket, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := *l.known.Load()
	if b, ok := known[value]; ok {
		return b, value
	}
	if len(known) >= mostLabels {
		return l.other, otherLabel
	}
	b, more := newBucket(), maps.Clone(known)
	more[value] = b
	l.known.Store(&more)
	return b, value
}
