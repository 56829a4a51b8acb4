package partition

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
)

// stopping is a cluster whose readers' process is stopped when they have been given
// something, until the time is over that they wanted to wait for it.
type stopping struct {
	Cluster
	stops *atomic.Int64 // how often, yet
}

// Logs implements Cluster.
func (c stopping) Logs() (LogReader, error) {
	cl, err := c.Cluster.Logs()
	return stoppedReader{cl, c.stops}, err
}

// Source implements Cluster.
func (c stopping) Source() (journal.Source, error) {
	s, err := c.Cluster.Source()
	return stoppedSource{s, c.stops}, err
}

type stoppedReader struct {
	LogReader
	stops *atomic.Int64
}

// PollFetches implements journal.Log.
func (r stoppedReader) PollFetches(ctx context.Context) kgo.Fetches {
	return stopped(ctx, r.LogReader, r.stops)
}

type stoppedSource struct {
	journal.Source
	stops *atomic.Int64
}

// OpenLog implements journal.Source.
func (s stoppedSource) OpenLog() (journal.Log, error) {
	log, err := s.Source.OpenLog()
	return stoppedLog{log, s.stops}, err
}

type stoppedLog struct {
	journal.Log
	stops *atomic.Int64
}

// PollFetches implements journal.Log.
func (l stoppedLog) PollFetches(ctx context.Context) kgo.Fetches {
	return stopped(ctx, l.Log, l.stops)
}

func stopped(ctx context.Context, log journal.Log, stops *atomic.Int64) kgo.Fetches {
	fetches := log.PollFetches(ctx)
	if _, bounded := ctx.Deadline(); bounded && fetches.NumRecords() > 0 && stops.Add(-1) >= 0 {
		<-ctx.Done()
	}
	return fetches
}

// A process that is stopped while it reads a journal or a changelog passes over
// nothing of what it was given.
func TestO3NothingIsPassedOverByAProcessThatIsStoppedWhileItReads(t *testing.T) {
	for name, instance := range map[string]string{"the journal": "a", "the changelog": "b"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				p := r.partitionOf("w")
				r.settings.NeverRunsTwice, r.settings.Lease = true, time.Minute
				r.adder()
				a := r.start("a", p)
				r.counted("w", 20)
				want := r.settled("w")
				if instance == "a" {
					a.kill()
				} else {
					a.leave()
				}
				stops := &atomic.Int64{}
				stops.Store(3)
				r.over = func(all Cluster) Cluster { return stopping{all, stops} }
				b := r.start(instance, p)
				defer b.leave()
				b.await(Owning)
				if sum := r.settled("w"); sum != want {
					t.Errorf("the sum is %d, want %d", sum, want)
				}
				if n := stops.Load(); n > 0 {
					t.Errorf("the process was to be stopped %d times more", n)
				}
			})
		})
	}
}
