package budget

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// meter counts the requests of a broker's clients. The zero value is ready.
type meter struct {
	produces, fetches, batches, records, size atomic.Int64
}

// observe is a broker's Observe.
func (m *meter) observe(req kmsg.Request) {
	switch req := req.(type) {
	case *kmsg.FetchRequest:
		m.fetches.Add(1)
	case *kmsg.ProduceRequest:
		m.produces.Add(1)
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				m.batch(p.Records)
			}
		}
	}
}

// Places in a record batch of version 2, as Kafka's protocol guide has it: the length
// counts what comes after it.
const (
	lengthAt  = 8
	lengthEnd = 12
	recordsAt = 57
	headerEnd = 61
)

// batch counts the record batches that a produce request has for one partition.
func (m *meter) batch(b []byte) {
	for len(b) >= headerEnd {
		size := min(len(b), lengthEnd+int(binary.BigEndian.Uint32(b[lengthAt:])))
		m.batches.Add(1)
		m.size.Add(int64(size))
		m.records.Add(int64(binary.BigEndian.Uint32(b[recordsAt:])))
		b = b[size:]
	}
}
