package kafka

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// readopt lets a producer go on in a topic that was deleted and made anew. kgo
// fails what is produced to such a topic, for ever: another topic of the same name
// is none that it takes by itself. Records that name no place in a log, and that
// are produced again if they fail, may go there. Those of a journal may not.
//
// A topic whose limit was lowered is purged likewise: kgo asks for limits when it
// meets a topic.
type readopt struct {
	limits *Limits
	mu     sync.Mutex
	cl     *kgo.Client
	closed bool
	going  map[string]bool // topics that are being purged
}

var (
	_ kgo.HookProduceRecordUnbuffered = (*readopt)(nil)
	_ kgo.HookNewClient               = (*readopt)(nil)
	_ kgo.HookClientClosed            = (*readopt)(nil)
)

// OnNewClient implements kgo.HookNewClient.
func (h *readopt) OnNewClient(cl *kgo.Client) {
	h.mu.Lock()
	h.cl, h.going = cl, map[string]bool{}
	h.mu.Unlock()
	h.limits.tell(h, true)
}

// OnClientClosed implements kgo.HookClientClosed.
func (h *readopt) OnClientClosed(*kgo.Client) {
	h.limits.tell(h, false)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
}

// purge lets the client meet a topic anew: what it has of it fails.
func (h *readopt) purge(topic string) { h.cl.PurgeTopicsFromProducing(topic) }

// OnProduceRecordUnbuffered implements kgo.HookProduceRecordUnbuffered. It must not
// wait: the client holds locks.
func (h *readopt) OnProduceRecordUnbuffered(r *kgo.Record, err error) {
	if err == nil || !IsRemade(err) {
		return
	}
	topic := r.Topic
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.going[topic] {
		return
	}
	h.going[topic] = true
	go func() { // it ends with the client at the latest
		h.purge(topic)
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.going, topic)
	}()
}
