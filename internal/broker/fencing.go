package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// guard makes the broker as strict as Kafka where kfake is not.
//
// kfake lets a producer that names its id and an epoch of the past initialize
// again, where Kafka answers PRODUCER_FENCED: a deposed owner that recovers by
// itself would fence the lawful one. Which epoch is the present one cannot be
// seen from here, so every such recovery of a transactional id is refused; its
// owner fences anew, as after any failure (O1). A first initialization names
// no id and is always served.
func (b *Broker) guard() {
	b.exclusive.install(b.cluster)
	b.cluster.ControlKey(kmsg.InitProducerID.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		init := req.(*kmsg.InitProducerIDRequest)
		if init.TransactionalID == nil || init.ProducerID < 0 {
			return nil, nil, false
		}
		resp := init.ResponseKind().(*kmsg.InitProducerIDResponse)
		resp.ErrorCode = kerr.ProducerFenced.Code
		return resp, nil, true
	})
}
