package partition

import (
	"context"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/partition/defect"
	"github.com/heddle-run/heddle/internal/partition/loop"
)

// queueCounts knows how many partitions each topic has, and tells owners that wait for a
// queue that it is there now.
type queueCounts struct {
	host    *Host
	mu      sync.Mutex
	topics  map[string]int32 // partitions
	waiting map[*kafkaLog]struct{}
	wake    chan struct{}
}

const (
	// queueRefresh is how often the counts are asked for: partitions of a queue
	// may be added while it is used.
	queueRefresh = time.Minute

	// queueSoon is how often they are asked for while tasks wait for a queue.
	queueSoon = time.Second
)

func newQueueCounts(h *Host) *queueCounts {
	return &queueCounts{host: h, topics: map[string]int32{}, waiting: map[*kafkaLog]struct{}{}, wake: make(chan struct{}, 1)}
}

// partitions is how many a topic has; 0: it is not known (yet).
func (q *queueCounts) partitions(topic string) int32 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.topics[topic]
}

// await tells an owner of the next queues that are found.
func (q *queueCounts) await(l *kafkaLog) {
	q.mu.Lock()
	q.waiting[l] = struct{}{}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run asks for the counts now and then, and once a second while tasks wait.
func (q *queueCounts) run(ctx context.Context) {
	for told := false; ctx.Err() == nil; {
		wait, wake := queueRefresh, q.wake
		err := defect.Caught(q.host.logger, q.host.Stats, func() error { return q.load(ctx) })
		if err != nil && ctx.Err() == nil {
			if !told {
				q.host.logger.Warn("the task queues are not known; they are asked for again", "error", err)
			}
			wait = queueSoon
		}
		told = err != nil
		if q.awaited() {
			wait, wake = queueSoon, nil
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-wake:
		}
		t.Stop()
	}
}

func (q *queueCounts) awaited() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) > 0
}

func (q *queueCounts) load(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	meta, err := q.host.adm.Metadata(ctx)
	if err != nil {
		return err
	}
	if id, err := q.host.identityOf(meta); err == nil {
		q.host.router.Identified(id)
	}
	known := map[string]int32{}
	for name, t := range meta.Topics {
		if t.Err == nil {
			known[name] = int32(len(t.Partitions))
		}
	}
	q.learn(known)
	return nil
}

// learn takes the counts that there are now.
func (q *queueCounts) learn(topics map[string]int32) {
	q.mu.Lock()
	found := false
	for name, n := range topics {
		found = found || n > 0 && q.topics[name] == 0
	}
	q.topics = topics
	var tell []*kafkaLog
	if found {
		for l := range q.waiting {
			tell = append(tell, l)
		}
		clear(q.waiting)
	}
	q.mu.Unlock()
	for _, l := range tell {
		l.box.Do((*loop.Processor).RetryParked)
	}
}

// forget drops a tenure that has ended.
func (q *queueCounts) forget(l *kafkaLog) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, l)
}
