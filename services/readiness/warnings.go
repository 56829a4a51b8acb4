package readiness

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
)

// Limits are what a partition is warned about beyond.
type Limits struct {
	OldestPending time.Duration // an attempt without a worker; 0: DefaultOldestPending
}

const (
	// DefaultOldestPending is how long an attempt may wait for a worker.
	DefaultOldestPending = time.Minute

	// lateCheckpoints is how many intervals a checkpoint may be old.
	lateCheckpoints = 10
)

// Warnings are what an operator should know of a partition and does not block.
func Warnings(p Published, now time.Time, l Limits) []string {
	var list []string
	for _, u := range p.Unread {
		list = append(list, fmt.Sprintf("a record of %s has been unread since %s, and the cluster deletes it when it is older than %s (retention.ms): let a planner read it, or raise that",
			u.Topic, u.Since.UTC().Format(time.RFC3339), u.Retention))
	}
	if p.Record == nil {
		return list
	}
	limit := l.OldestPending
	if limit == 0 {
		limit = DefaultOldestPending
	}
	list = append(list, untaken(&p.Record.Backlog, now, limit)...)
	list = append(list, unserved(&p.Record.Backlog, now, limit)...)
	if late(p.Record.Checkpoint, now) {
		list = append(list, "the last checkpoint is of "+p.Record.Checkpoint.At)
	}
	return append(list, p.Record.Notes...)
}

// untaken warns of each queue from which nobody takes, and once of a partition whose
// record names no queues.
func untaken(b *runtime.Backlog, now time.Time, limit time.Duration) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(b.Queues)) {
		q := b.Queues[name]
		if age, ok := since(q.OldestPendingSince, now); ok && age > limit {
			list = append(list, fmt.Sprintf("an attempt has been pending in queue %q since %s, with %d pending there in all: nobody takes it",
				name, *q.OldestPendingSince, q.Pending))
		}
	}
	if age, ok := since(b.OldestPendingSince, now); len(list) == 0 && ok && age > limit {
		list = append(list, fmt.Sprintf("an attempt has been pending since %s: nobody takes it", *b.OldestPendingSince))
	}
	return list
}

// unserved warns of each pool of runners in which attempts wait, and none of whose runners may get them.
func unserved(b *runtime.Backlog, now time.Time, limit time.Duration) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(b.Pools)) {
		p := b.Pools[name]
		age, ok := since(p.OldestQueuedSince, now)
		if !ok || age <= limit || p.Connected > p.PassedOver {
			continue
		}
		why := "no runner is connected"
		if p.Connected > 0 {
			why = fmt.Sprintf("none of its %d connected runners gets new work", p.Connected)
		}
		list = append(list, fmt.Sprintf("an attempt has waited in pool %q since %s, with %d waiting there in all: %s", name, *p.OldestQueuedSince, p.Queued, why))
	}
	return list
}

func late(c *runtime.Checkpoint, now time.Time) bool {
	if c == nil || c.IntervalMs <= 0 {
		return false
	}
	age, ok := since(&c.At, now)
	return ok && age > time.Duration(c.IntervalMs)*time.Millisecond*lateCheckpoints
}

func since(at *string, now time.Time) (time.Duration, bool) {
	if at == nil {
		return 0, false
	}
	t, err := time.Parse(time.RFC3339, *at)
	if err != nil {
		return 0, false
	}
	return now.Sub(t), true
}
