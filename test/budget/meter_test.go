package budget

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestRequestsBatchesAndRecordsAreCounted(t *testing.T) {
	first, second := encoded(3, "three records"), encoded(1, "one")
	var m meter
	m.observe(&kmsg.FetchRequest{})
	m.observe(&kmsg.MetadataRequest{})
	m.observe(produce(append(first, second...)))
	m.observe(produce(second, second))
	for _, test := range []struct {
		name     string
		is, want int64
	}{
		{"fetches", m.fetches.Load(), 1},
		{"produces", m.produces.Load(), 2},
		{"batches", m.batches.Load(), 4},
		{"records", m.records.Load(), 6},
		{"size", m.size.Load(), int64(len(first) + 3*len(second))},
	} {
		if test.is != test.want {
			t.Errorf("%s are %d, want %d", test.name, test.is, test.want)
		}
	}
}

// encoded is a batch of so many records, which are the payload.
func encoded(records int32, payload string) []byte {
	b := kmsg.RecordBatch{Magic: 2, NumRecords: records, Records: []byte(payload)}
	b.Length = int32(len(b.AppendTo(nil)) - lengthEnd)
	return b.AppendTo(nil)
}

// produce is a request with the batches of some partitions.
func produce(partitions ...[]byte) *kmsg.ProduceRequest {
	topic := kmsg.NewProduceRequestTopic()
	for _, records := range partitions {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Records = records
		topic.Partitions = append(topic.Partitions, p)
	}
	return &kmsg.ProduceRequest{Topics: []kmsg.ProduceRequestTopic{topic}}
}
