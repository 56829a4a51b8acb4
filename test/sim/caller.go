package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/test/sim/calls"
)

// caller asks planners for one goroutine, and never gives up: what is not
// answered in time is asked again under the same id.
type caller struct {
	w     *world
	name  string // its address
	asked int
	read  int64              // of its log of replies
	reply []byte             // the one before that, if nobody has it yet
	more  []kgo.RecordHeader // of its commands
}

func (w *world) caller(name string) *caller { return &caller{w: w, name: name} }

// patience is how long a caller waits for a reply before it asks again.
const patience = 4 * time.Second

// command sends a command and returns its decision. The id is what repetitions
// are known by.
func (u *caller) command(ctx context.Context, name, workflow, id string, body any) (events.Reply, error) {
	value, err := json.Marshal(body)
	if err != nil {
		return events.Reply{}, err
	}
	u.asked++
	replyID := fmt.Sprintf("%s-%d", u.name, u.asked)
	headers := []kgo.RecordHeader{
		kafka.Header(events.HeaderID, []byte(id)), kafka.Header(events.HeaderSource, []byte("sim")),
		kafka.Header(events.HeaderType, []byte(events.CommandType(name))),
		kafka.Header(events.HeaderReplyTo, []byte(u.name)), kafka.Header(events.HeaderReplyID, []byte(replyID)),
	}
	headers = append(headers, u.more...)
	c := &calls.Call{Workflow: workflow, What: name, ID: id, Body: value, Began: u.w.tick()}
	u.w.sent(c)
	rec := func() *kgo.Record {
		if p, ok := partitionOf(workflow); ok {
			return kafka.Placed(u.w.c.names.Commands(), p, []byte(workflow), value, headers...)
		}
		return kafka.Keyed(u.w.c.names.Commands(), []byte(workflow), value, headers...)
	}
	r, err := u.until(ctx, replyID, rec)
	if err == nil {
		c.Reply, c.Ended = r, u.w.tick()
	}
	return r, err
}

// partitionOf is the partition that a command to a partition itself is for.
func partitionOf(workflow string) (p int32, ok bool) {
	n, err := fmt.Sscanf(workflow, "_partition/%d", &p)
	return p, n == 1 && err == nil
}

// query asks for a consistent read.
func (u *caller) query(ctx context.Context, q events.Query) (events.Reply, error) {
	u.asked++
	q.ReplyTo = events.ReplyTo{Address: u.name, ID: fmt.Sprintf("%s-%d", u.name, u.asked)}
	c := &calls.Call{Workflow: q.Workflow, What: calls.Asking + q.Kind, Asked: &q, Began: u.w.tick()}
	rec := func() *kgo.Record {
		q.Deadline = time.Now().Add(patience).UnixMilli()
		if p, ok := partitionOf(q.Workflow); ok {
			return kafka.Placed(u.w.c.names.Queries(), p, []byte(q.Workflow), wire.Marshal(&q))
		}
		return kafka.Keyed(u.w.c.names.Queries(), []byte(q.Workflow), wire.Marshal(&q))
	}
	r, err := u.until(ctx, q.ReplyTo.ID, rec)
	if err == nil {
		c.Reply, c.Ended = r, u.w.tick()
		u.w.sent(c)
	}
	return r, err
}

// until asks until it is answered.
func (u *caller) until(ctx context.Context, replyID string, rec func() *kgo.Record) (events.Reply, error) {
	for {
		u.send(rec())
		some, stop := context.WithTimeout(ctx, patience)
		r, err := u.answer(some, replyID)
		stop()
		held := err == nil && r.Refusal != nil && (r.Refusal.Code == "open_transaction" || r.Refusal.Code == "unavailable")
		if held {
			u.w.mu.Lock()
			u.w.coverage.Refusal(r.Refusal.Code)
			u.w.mu.Unlock()
		}
		if err == nil && !held || ctx.Err() != nil {
			return r, err
		}
	}
}

// send produces a record; what becomes of it is not waited for.
func (u *caller) send(rec *kgo.Record) {
	c := u.w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(nil, "user/"+u.name+"/send", sending, &op{what: rec.Topic, exec: func() error { return c.write(rec) }, done: func(error) {}})
}

// answer waits for the decision or answer to a question.
func (u *caller) answer(ctx context.Context, replyID string) (events.Reply, error) {
	for {
		r, err := u.next(ctx)
		if err != nil || r.ID == replyID && r.Kind != events.ReplyDrained {
			return r, err
		}
	}
}

// next waits for the next reply to this caller.
func (u *caller) next(ctx context.Context) (events.Reply, error) {
	c := u.w.c
	at := place{c.names.Replies(), kafka.PartitionFor([]byte(u.name), repliesPartitions)}
	got := make(chan []byte, 1)
	var value []byte
	o := &op{what: "reply"}
	o.ready = func() bool { return u.arrived(at) }
	o.exec = func() error { value, u.reply = u.reply, nil; return nil }
	o.done = func(error) { got <- value }
	c.mu.Lock()
	c.add(nil, "user/"+u.name+"/replies", fetching, o)
	c.mu.Unlock()
	var r events.Reply
	select {
	case b := <-got:
		if err := json.Unmarshal(b, &r); err != nil {
			return r, fmt.Errorf("reading a reply: %w", err)
		}
		return r, nil
	case <-ctx.Done():
		c.mu.Lock()
		o.gone, o.done = true, nil
		c.mu.Unlock()
		return r, ctx.Err()
	}
}

// arrived reports whether there is a reply, and keeps it.
func (u *caller) arrived(at place) bool {
	b := u.w.c.brokers
	u.read = max(u.read, u.w.c.offset(at, starts)) // what is older nobody waits for
	for u.reply == nil && b.readable(at, u.read, b.epoch(at)) {
		for _, rec := range u.w.c.records(at, u.read, 1<<20) {
			u.read = rec.Offset + 1
			if string(rec.Key) == u.name {
				u.reply = rec.Value
				break
			}
		}
	}
	return u.reply != nil
}

// tick counts what callers begin and see: their order in a history.
func (w *world) tick() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ticks = append(w.ticks, time.Now())
	return int64(len(w.ticks))
}

func (w *world) sent(c *calls.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, c)
}
