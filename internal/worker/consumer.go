package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

const (
	// pollMax bounds the records that wait for slots at a time. They cannot run
	// elsewhere anyway, as their partition is ours.
	pollMax = 256
	// fullFor is how long a queue waits for a slot before it stops fetching.
	// Pausing drops what was fetched, so a moment without a slot is not worth it.
	fullFor = 250 * time.Millisecond
	// errorPause follows a failed poll.
	errorPause = 250 * time.Millisecond
)

// consumer takes from one queue: a member of the queue's group.
type consumer struct {
	worker *Worker
	pool   *pool
	queue  string
	topic  string
	client atomic.Pointer[kgo.Client]
	offer  *offer     // to the pool
	taken  []*Attempt // room for what is taken at a time

	trouble string // what kept it from taking, as it was told; empty: nothing

	connected  chan struct{} // closed once there is a client
	serverSide bool          // the group's protocol
	stranger   bool          // the topic is another one of its name

	partitions map[int32]*partition // guarded by the tracker
	committing chan struct{}        // one commit at a time, so that none overtakes
	mostNote   int                  // characters of a note; guarded by the tracker

	// polling is held from a poll until its records are in the tracker, so that
	// a revocation can wait for that. interrupt ends the poll that waits.
	polling   sync.Mutex
	interrupt atomic.Pointer[context.CancelFunc]
	revoking  atomic.Int32
}

func newConsumer(t *Worker, p *pool, queue string) *consumer {
	return &consumer{worker: t, pool: p, queue: queue, topic: t.names.Tasks(queue), offer: newOffer(), partitions: map[int32]*partition{}, connected: make(chan struct{}), committing: make(chan struct{}, 1), mostNote: mostNote}
}

// connect joins the queue's group.
func (c *consumer) connect(serverSide bool) error {
	cl, err := kafka.NewQueueConsumer(c.worker.config.Kafka, c.queue, serverSide, assignment{c})
	if err != nil {
		return err
	}
	c.serverSide = serverSide
	c.client.Store(cl)
	close(c.connected)
	return nil
}

// adopt goes on with the topic that has the name now: kgo takes none by itself. It
// joins the group anew, as no offset of the old topic may be committed in the new
// one. What was taken runs on, and its outcomes count.
func (c *consumer) adopt(ctx context.Context) {
	c.dropAll() // so that leaving commits nothing
	c.leave(ctx)
	c.client.Load().Close()
	c.dropAll()
	cl, err := kafka.NewQueueConsumer(c.worker.config.Kafka, c.queue, c.serverSide, assignment{c})
	if err != nil { // the same settings have made one before
		c.worker.log.Error("tasks cannot be taken", "topic", c.topic, "error", err)
		_ = pause(ctx, errorPause) // ended early by ctx: the caller sees that
		return
	}
	c.stranger = false
	c.client.Store(cl)
}

// run takes attempts and hands them to slots until ctx ends. What has no slot
// by then is handed back.
func (c *consumer) run(ctx context.Context) {
	full := time.NewTimer(fullFor)
	defer full.Stop()
	for ctx.Err() == nil {
		if !c.worker.tracker.waitRoom(ctx) {
			return
		}
		if c.stranger {
			c.adopt(ctx)
			continue
		}
		for _, a := range c.hand(ctx, c.poll(ctx), full) {
			c.worker.abandon(a)
		}
	}
}

// poll takes the next records, at most as many as there are slots.
func (c *consumer) poll(ctx context.Context) []*Attempt {
	c.polling.Lock()
	defer c.polling.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.interrupt.Store(&cancel)
	if c.revoking.Load() > 0 {
		return nil
	}
	fetches := c.client.Load().PollRecords(ctx, min(c.pool.Slots, pollMax))
	if c.troubled(fetches) && fetches.NumRecords() == 0 {
		_ = pause(ctx, errorPause) // ended early by ctx: the caller sees that
	}
	return c.take(fetches)
}

// troubled reports whether something could not be fetched, and tells what once, until
// tasks are taken again: a queue that nobody has made is asked for again and again.
func (c *consumer) troubled(fetches kgo.Fetches) bool {
	failed := false
	fetches.EachError(func(topic string, p int32, err error) {
		if errors.Is(err, context.Canceled) {
			return
		}
		failed = true
		c.stranger = c.stranger || kafka.IsRemade(err)
		if c.trouble != err.Error() {
			c.trouble = err.Error()
			c.worker.log.Warn("tasks cannot be taken; it is tried again", "topic", topic, "partition", p, "error", err)
		}
	})
	if !failed && c.trouble != "" && fetches.NumRecords() > 0 {
		c.trouble = ""
		c.worker.log.Info("tasks are taken again", "topic", c.topic)
	}
	return failed
}

// take enters the records in the tracker and returns the attempts to run, in room
// that it uses again.
func (c *consumer) take(fetches kgo.Fetches) []*Attempt {
	if fetches.Empty() {
		return nil
	}
	now := time.Now()
	all := c.taken[:0]
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		for _, r := range f.Records {
			all = append(all, c.decode(r))
		}
	})
	l := c.worker.tracker
	l.mu.Lock()
	defer l.mu.Unlock()
	out, next := all[:0], 0
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		p := c.partitions[f.Partition]
		for _, r := range f.Records {
			a := all[next]
			next++
			switch {
			case p == nil: // revoked since; the next owner takes it
			case a == nil:
				p.enter(r.Offset, r.LeaderEpoch).finish()
			case p.known(r.Offset):
				p.enter(r.Offset, r.LeaderEpoch).finish()
				l.recent.add(a.key, now)
				c.worker.config.Observer.Dropped(c.queue)
			case l.take(a, p.enter(r.Offset, r.LeaderEpoch), now):
				out = append(out, a)
			default:
				c.worker.config.Observer.Dropped(c.queue)
			}
		}
	})
	clear(all[len(out):])
	c.taken = all
	return out
}

// decode reads a task record, or returns nil for one that nobody can report
// about. One that has a token but not all of our fields is of a newer planner:
// it is handed back as unknown.
func (c *consumer) decode(r *kgo.Record) *Attempt {
	a := &Attempt{Queue: c.queue, pool: c.pool, written: r.Timestamp.UnixMilli()}
	err := errors.Join(kafka.CheckFormat(r, events.TaskVersion), wire.Unmarshal(r.Value, &a.Spec))
	own(&a.Spec)
	a.Workflow = workflowOf(r.Key, a.Spec.IdempotencyKey)
	var ok bool
	if a.key, ok = keyOf(a.Spec.Token); !ok || a.Workflow == "" {
		c.worker.log.Error("a task record is unreadable and skipped",
			"topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "error", err)
		return nil
	}
	if err != nil {
		c.worker.log.Error("a task record is not understood and handed back", "workflow", a.Workflow, "error", err)
		a.Spec = events.Task{Token: a.Spec.Token}
	}
	return a
}

// own copies the values that alias their record: a long attempt, or a handler
// that keeps its input, must not keep the whole fetch in memory.
func own(s *events.Task) {
	values := [...]*[]byte{&s.Token, (*[]byte)(&s.Input), (*[]byte)(&s.Context), (*[]byte)(&s.Heartbeat)}
	size := 0
	for _, v := range values {
		size += len(*v)
	}
	room := make([]byte, 0, size)
	for _, v := range values {
		if len(*v) == 0 {
			*v = nil
			continue
		}
		at := len(room)
		room = append(room, *v...)
		*v = room[at:len(room):len(room)]
	}
}

// workflowOf is a record's key as a string: usually what the idempotency key
// begins with.
func workflowOf(key []byte, idempotency string) string {
	if n := len(key); n <= len(idempotency) && idempotency[:n] == string(key) {
		return idempotency[:n]
	}
	return string(key)
}

// hand waits until slots have taken the attempts and returns those that none
// had taken when ctx ended. After a while without a slot, which full measures,
// the queue is not fetched until there is one.
func (c *consumer) hand(ctx context.Context, attempts []*Attempt, full *time.Timer) []*Attempt {
	if len(attempts) == 0 {
		return nil
	}
	c.pool.offer(c.offer, attempts)
	full.Reset(fullFor)
	for {
		select {
		case <-c.offer.taken:
			return nil
		case <-ctx.Done():
			return c.pool.withdraw(c.offer)
		case <-full.C:
		}
		if !c.pool.full() { // the slots are slow to begin
			full.Reset(fullFor)
			continue
		}
		// Once at most: full is not reset.
		cl := c.client.Load()
		cl.PauseFetchTopics(c.topic)
		defer cl.ResumeFetchTopics(c.topic)
	}
}

// abandon hands back an attempt that no slot began.
func (t *Worker) abandon(a *Attempt) {
	t.tracker.handBack(a)
	t.end(a, events.TaskOutcome{Token: a.Spec.Token, Outcome: events.OutcomeAbandoned, Executor: t.config.Name}, time.Now())
}
