package partition

import (
	"context"
	"sync"
	"time"
)

// queueCounts knows how many partitions each task queue has, and keeps the
// tasks of queues that it does not know (yet).
type queueCounts struct {
	host   *Host
	mu     sync.Mutex
	queues map[string]queueTopic
	parked map[string][]parkedTask
	wake   chan struct{}
}

// queueTopic is the topic of a queue's tasks.
type queueTopic struct {
	name       string
	partitions int32
}

type parkedTask struct {
	log *kafkaLog
	out *Outgoing
}

// queueRefresh is how often the counts are asked for: partitions of a queue may
// be added while it is used.
const queueRefresh = time.Minute

func newQueueCounts(h *Host) *queueCounts {
	return &queueCounts{host: h, queues: map[string]queueTopic{}, parked: map[string][]parkedTask{}, wake: make(chan struct{}, 1)}
}

func (q *queueCounts) topic(queue string) (queueTopic, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t, ok := q.queues[queue]
	return t, ok
}

// park keeps a task until its queue is known. It counts as in flight meanwhile.
func (q *queueCounts) park(l *kafkaLog, o *Outgoing) {
	q.mu.Lock()
	q.parked[o.Queue] = append(q.parked[o.Queue], parkedTask{l, o})
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run asks for the counts now and then, and once a second while tasks wait.
func (q *queueCounts) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := queueRefresh
		if err := q.load(ctx); err != nil && ctx.Err() == nil {
			q.host.logger.Warn("asking for the task queues", "error", err)
			wait = time.Second
		}
		if q.release() {
			wait = time.Second
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-q.wake:
		}
		t.Stop()
	}
}

func (q *queueCounts) load(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	topics, err := q.host.adm.ListTopics(ctx)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, t := range topics {
		if queue, ok := q.host.names.Queue(name); ok && t.Err == nil && len(t.Partitions) > 0 {
			q.queues[queue] = queueTopic{name, int32(len(t.Partitions))}
		}
	}
	return nil
}

// release sends what waited for its queue, and says whether anything still waits.
func (q *queueCounts) release() bool {
	q.mu.Lock()
	var ready []parkedTask
	for queue, list := range q.parked {
		if _, ok := q.queues[queue]; ok {
			ready = append(ready, list...)
			delete(q.parked, queue)
		}
	}
	waiting := len(q.parked) > 0
	q.mu.Unlock()
	for _, t := range ready {
		t.log.letOutAgain(t.out)
	}
	return waiting
}
