package broker

import (
	"context"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// guard makes the broker as strict as Kafka where kfake is not.
//
// kfake lets a producer that names its id and an epoch of the past initialize
// again, where Kafka answers PRODUCER_FENCED: a deposed owner that recovers by
// itself would fence the lawful one. Every such recovery of a transactional id is
// refused; its owner fences anew, as after any failure. A first
// initialization names no id and is always served.
//
// kfake takes the abort of a producer that was deposed within its transaction for
// one that is sent again, and answers with its successor's epoch. So we initialize
// for clients: we then know the epochs, and refuse those that are older. What was
// initialized before a restart of the broker is not known.
func (b *Broker) guard() {
	b.exclusive.install(b.cluster)
	b.cluster.ControlKey(kmsg.InitProducerID.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		return b.initProducer(req.(*kmsg.InitProducerIDRequest))
	})
	b.cluster.ControlKey(kmsg.EndTxn.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		end := req.(*kmsg.EndTxnRequest)
		if !b.fences.deposed(end) {
			return nil, nil, false
		}
		resp := end.ResponseKind().(*kmsg.EndTxnResponse)
		resp.ErrorCode = kerr.ProducerFenced.Code
		return resp, nil, true
	})
}

// ours is the epoch that our own initializations name: like any that is negative,
// it says that there is none.
const ours = -2

func (b *Broker) initProducer(req *kmsg.InitProducerIDRequest) (kmsg.Response, error, bool) { //nolint:revive // kfake's signature
	if req.TransactionalID == nil || req.ProducerID < 0 && req.ProducerEpoch == ours {
		return nil, nil, false
	}
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	if req.ProducerID >= 0 {
		resp.ErrorCode = kerr.ProducerFenced.Code
		return resp, nil, true
	}
	id := *req.TransactionalID
	b.fences.begin(id)
	answer := make(chan *kmsg.InitProducerIDResponse, 1)
	b.cluster.SleepControl(func() {
		got, err := initialize(b.client, id, req.TransactionTimeoutMillis)
		if err != nil {
			b.log.Warn("broker: initializing for a client", "id", id, "error", err)
			got = nil
		}
		b.fences.end(id, got)
		answer <- got
	})
	var got *kmsg.InitProducerIDResponse
	select {
	case got = <-answer:
	default: // a broker that closes does not wait
	}
	if got == nil {
		return nil, fmt.Errorf("transactional id %s could not be initialized", id), true
	}
	resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = got.ErrorCode, got.ProducerID, got.ProducerEpoch
	return resp, nil, true
}

// initialize takes a transactional id as a client does.
func initialize(cl *kgo.Client, id string, timeoutMillis int32) (*kmsg.InitProducerIDResponse, error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerEpoch = &id, timeoutMillis, ours
	return req.RequestWith(context.Background(), cl)
}

// fences are the newest initializations of transactional ids.
type fences struct {
	mu     sync.Mutex
	newest map[string]fence
}

type fence struct {
	producer int64
	epoch    int16
	pending  int // initializations that are under way
}

func (f *fences) begin(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.newest == nil {
		f.newest = map[string]fence{}
	}
	at := f.newest[id]
	at.pending++
	f.newest[id] = at
}

// end notes what an initialization came to; nil: to nothing.
func (f *fences) end(id string, got *kmsg.InitProducerIDResponse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.newest[id]
	at.pending--
	if got != nil && got.ErrorCode == 0 && (got.ProducerID != at.producer || got.ProducerEpoch > at.epoch) {
		at.producer, at.epoch = got.ProducerID, got.ProducerEpoch
	}
	f.newest[id] = at
}

// deposed reports whether the owner of a transaction has a successor, or is getting one.
func (f *fences) deposed(end *kmsg.EndTxnRequest) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.newest[end.TransactionalID]
	return at.pending > 0 || end.ProducerID == at.producer && end.ProducerEpoch < at.epoch
}
