package worker

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
)

// releaseWait bounds how long a revocation waits for the acknowledgements that
// let it commit past what still runs. It is well below the session timeout.
const (
	releaseWait  = 2 * time.Second
	releasePause = 5 * time.Millisecond
)

// assignment is what the group tells a consumer.
type assignment struct{ c *consumer }

// Assigned makes room for the records of new partitions, and finds out what of them
// the predecessor has done.
func (s assignment) Assigned(ctx context.Context, _ string, numbers []int32) {
	s.c.assign(numbers, s.c.notes(ctx))
}

func (c *consumer) assign(numbers []int32, notes map[int32][]interval) {
	l := c.worker.tracker
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range numbers {
		c.partitions[n] = &partition{number: n, noted: notes[n]}
	}
}

// notes are what the group has noted beside its committed offsets, by partition.
// Without them more runs again than need be, and nothing is lost.
func (c *consumer) notes(ctx context.Context) map[int32][]interval {
	ctx, cancel := context.WithTimeout(ctx, commitWait)
	defer cancel()
	select {
	case <-c.connected: // the group may be faster than the member that joined it
	case <-ctx.Done():
		return nil
	}
	committed, err := kafka.Committed(ctx, c.client.Load(), c.worker.names.QueueGroup(c.queue), c.topic)
	if err != nil {
		c.worker.log.Warn("what was done in new partitions is not known; it may run again", "topic", c.topic, "error", err)
	}
	notes := map[int32][]interval{}
	for n, at := range committed {
		notes[n] = decodeNote(at.Offset, at.Metadata)
	}
	return notes
}

// Revoked commits what is done, and what runs on as notified, so that the next
// owner takes neither. What has not begun goes to the next owner.
func (s assignment) Revoked(ctx context.Context, _ string, numbers []int32) {
	c := s.c
	c.settlePolls()
	c.releaseRunning(ctx, numbers)
	c.commit(ctx)
	c.drop(numbers)
}

// Lost forgets the partitions: somebody else may own them already, so nothing
// of them is committed. Their attempts run on and their outcomes count.
func (s assignment) Lost(_ context.Context, _ string, numbers []int32) {
	s.c.settlePolls()
	s.c.drop(numbers)
}

// settlePolls waits until no polled record is outside of the tracker: a record
// of an old assignment must not be entered in a new one.
func (c *consumer) settlePolls() {
	c.revoking.Add(1)
	defer c.revoking.Add(-1)
	if interrupt := c.interrupt.Load(); interrupt != nil {
		(*interrupt)()
	}
	c.polling.Lock()
	c.polling.Unlock() //nolint:staticcheck // SA2001: waiting for the holder is all that is wanted
}

// releaseRunning notifies the attempts of the partitions that have begun,
// without their grace, and waits until no report about them is under way.
func (c *consumer) releaseRunning(ctx context.Context, numbers []int32) {
	ctx, cancel := context.WithTimeout(ctx, releaseWait)
	defer cancel()
	t := c.worker
	running := t.tracker.unreleasedOf(c, numbers)
	for _, a := range running {
		a.reports.Lock()
		if !a.ended && !a.notified() {
			t.notify(a, time.Now())
		}
		a.reports.Unlock()
	}
	for !t.tracker.released(running) {
		if err := pause(ctx, releasePause); err != nil {
			t.log.Warn("partitions move before all reports are acknowledged; their attempts may run twice",
				"topic", c.topic, "partitions", numbers)
			return
		}
	}
}

func (c *consumer) drop(numbers []int32) {
	l := c.worker.tracker
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range numbers {
		if p := c.partitions[n]; p != nil {
			p.gone = true
			delete(c.partitions, n)
		}
	}
}

// dropAll forgets all partitions.
func (c *consumer) dropAll() {
	l := c.worker.tracker
	l.mu.Lock()
	numbers := slices.Collect(maps.Keys(c.partitions))
	l.mu.Unlock()
	c.drop(numbers)
}

// commitLoop commits in the background what is done.
func (c *consumer) commitLoop(ctx context.Context) {
	tick := time.NewTicker(c.worker.config.CommitEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.commit(ctx)
		}
	}
}
