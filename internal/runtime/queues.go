package runtime

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Queue counts the deliveries of a task queue over all partitions.
type Queue struct {
	Name string `json:"name"`
	QueueBacklog
	Partitions []QueueShare `json:"partitions"` // those with open attempts there, ascending
}

// QueueShare counts those of one partition.
type QueueShare struct {
	Partition int32 `json:"partition"`
	QueueBacklog
}

// Queues are the task queues that partitions name in their backlogs, by name. Each partition names a bounded
// number of them: those first whose oldest pending attempt waits longest.
func (a *Aggregate) Queues() []Queue {
	all := map[string]*Queue{}
	for i := range a.Partitions {
		p := &a.Partitions[i]
		for name, share := range p.Backlog.Queues { // order: sorted below
			q := all[name]
			if q == nil {
				q = &Queue{Name: name}
				all[name] = q
			}
			q.Pending += share.Pending
			q.Notified += share.Notified
			q.Delivered += share.Delivered
			q.Failed += share.Failed
			q.Deferred += share.Deferred
			q.OldestPendingSince = older(q.OldestPendingSince, share.OldestPendingSince)
			q.Partitions = append(q.Partitions, QueueShare{p.Partition, share})
		}
	}
	list := make([]Queue, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		slices.SortFunc(all[name].Partitions, func(x, y QueueShare) int { return cmp.Compare(x.Partition, y.Partition) })
		list = append(list, *all[name])
	}
	return list
}

// older is the earlier of two times, either of which may be none, or unreadable: that counts as none.
func older(x, y *string) *string {
	at, ok := timeOf(y)
	if have, is := timeOf(x); is && (!ok || have.Before(at)) {
		return x
	}
	if !ok {
		return nil
	}
	return y
}

func timeOf(text *string) (time.Time, bool) {
	if text == nil {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, *text)
	return at, err == nil
}
