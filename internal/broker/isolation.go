package broker

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// leastShare is how many bytes of each partition a fetch may bring at least.
const leastShare = 256 << 10

// isolate makes read-committed fetches end at the bounds of their partitions, and
// not at their own. A fetch that kfake ends at MaxBytes does not say which
// transactions of its last partition were aborted, and its reader takes aborted
// records for committed ones. So MaxBytes is given out to the partitions of the
// request; those that an incremental fetch adds to them have had their share when
// they were last named.
func (b *Broker) isolate() {
	b.cluster.ControlKey(kmsg.Fetch.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		if fetch := req.(*kmsg.FetchRequest); fetch.IsolationLevel == readCommitted {
			giveOut(fetch)
		}
		return nil, nil, false
	})
}

// readCommitted is Kafka's number of the isolation level.
const readCommitted = 1

func giveOut(fetch *kmsg.FetchRequest) {
	named := 0
	for _, t := range fetch.Topics {
		named += len(t.Partitions)
	}
	share := max(leastShare, fetch.MaxBytes/int32(max(1, named)))
	for _, t := range fetch.Topics {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			p.PartitionMaxBytes = min(p.PartitionMaxBytes, share)
		}
	}
	fetch.MaxBytes = math.MaxInt32
}
