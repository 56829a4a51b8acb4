package equivalence

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/test/sim/calls"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// recorder writes down what the client asks and is told, where its Kafka clients
// take records from it and hand records to it. It is a kgo.Hook.
type recorder struct {
	topics *topics.Set

	mu      sync.Mutex
	ticks   int64
	calls   []*calls.Call
	waiting map[string]*calls.Call // by what replies name their question
	sent    map[string]bool        // commands, as workload.CommandID names them
	written map[place]string       // commands, where the cluster says that it took them
	errs    []error
}

var (
	_ kgo.HookProduceRecordBuffered   = (*recorder)(nil)
	_ kgo.HookProduceRecordUnbuffered = (*recorder)(nil)
	_ kgo.HookFetchRecordUnbuffered   = (*recorder)(nil)
)

func newRecorder(t *topics.Set) *recorder {
	return &recorder{topics: t, waiting: map[string]*calls.Call{}, sent: map[string]bool{}, written: map[place]string{}}
}

// OnProduceRecordBuffered implements kgo.HookProduceRecordBuffered: a call
// begins before its record can be anywhere else.
func (r *recorder) OnProduceRecordBuffered(k *kgo.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch k.Topic {
	case r.topics.Commands():
		c, replyID := commandCall(k)
		r.sent[workload.CommandID(k)] = true
		r.begin(replyID, c)
	case r.topics.Queries():
		var q events.Query
		if err := wire.Unmarshal(k.Value, &q); err != nil {
			r.errs = append(r.errs, fmt.Errorf("a query of the client: %w", err))
			return
		}
		r.begin(q.ReplyTo.ID, &calls.Call{Workflow: q.Workflow, What: calls.Asking + q.Kind})
	}
}

// OnProduceRecordUnbuffered implements kgo.HookProduceRecordUnbuffered.
func (r *recorder) OnProduceRecordUnbuffered(k *kgo.Record, err error) {
	if err != nil || k.Topic != r.topics.Commands() || k.Offset < 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written[place{events.FromCommands, k.Partition, k.Offset}] = workload.CommandID(k)
}

// begin notes a call; one that is asked again under its number has begun already.
func (r *recorder) begin(replyID string, c *calls.Call) {
	if r.waiting[replyID] != nil {
		return
	}
	r.ticks++
	c.Began = r.ticks
	r.calls, r.waiting[replyID] = append(r.calls, c), c
}

// OnFetchRecordUnbuffered implements kgo.HookFetchRecordUnbuffered: a call ends
// with its first answer, just before the client gets it.
func (r *recorder) OnFetchRecordUnbuffered(k *kgo.Record, polled bool) {
	if !polled || k.Topic != r.topics.Replies() {
		return
	}
	var reply events.Reply
	err := json.Unmarshal(k.Value, &reply)
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.waiting[reply.ID]
	switch {
	case err != nil:
		r.errs = append(r.errs, fmt.Errorf("a reply to the client: %w", err))
	case c == nil:
		r.errs = append(r.errs, fmt.Errorf("the client was told %s, which it has not asked", k.Value))
	case c.Ended == 0 && reply.Kind != events.ReplyDrained:
		r.ticks++
		c.Ended, c.Reply = r.ticks, reply
	}
}

// commandNames are the names of commands by the type of their records.
var commandNames = func() map[string]string {
	names := map[string]string{}
	for _, name := range events.CommandNames() {
		names[events.CommandType(name)] = name
	}
	return names
}()

// commandCall is the call that a command's record makes, and what its reply
// names it by.
func commandCall(k *kgo.Record) (c *calls.Call, replyID string) {
	c = &calls.Call{Workflow: string(k.Key), Body: k.Value}
	for _, h := range k.Headers {
		switch h.Key {
		case events.HeaderID:
			c.ID = string(h.Value)
		case events.HeaderType:
			c.What = commandNames[string(h.Value)]
		case events.HeaderReplyID:
			replyID = string(h.Value)
		}
	}
	return c, replyID
}

// answered reports whether a command was answered, as workload.CommandID names it.
func (r *recorder) answered(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if c.Ended > 0 && c.ID != "" && strings.HasPrefix(id, c.Workflow+"\x00") && strings.HasSuffix(id, "\x00"+c.ID) {
			return true
		}
	}
	return false
}
