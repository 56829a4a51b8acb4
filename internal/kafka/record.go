package kafka

import (
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
)

// batchBytes are those of a record batch around its records, as kgo counts them.
const batchBytes = 65

// BatchBytes is the size of an uncompressed batch of one record, which a topic's
// limit bounds; kgo refuses what is larger, a few bytes more or less.
func BatchBytes(r *kgo.Record) int {
	n := 3 // attributes, and the deltas of time and offset
	n += sized(len(r.Key)) + sized(len(r.Value)) + kbin.VarintLen(int32(len(r.Headers)))
	for _, h := range r.Headers {
		n += sized(len(h.Key)) + sized(len(h.Value))
	}
	return batchBytes + sized(n)
}

// sized is the length of so many bytes with their length before them.
func sized(n int) int { return kbin.VarintLen(int32(n)) + n }

// Keyed is a record that its key places. The slices are not copied.
func Keyed(topic string, key, value []byte, headers ...kgo.RecordHeader) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: ByKey, Key: key, Value: value, Headers: headers}
}

// Placed is a record for one partition, whatever its key. The slices are not
// copied.
func Placed(topic string, partition int32, key, value []byte, headers ...kgo.RecordHeader) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: partition, Key: key, Value: value, Headers: headers}
}

// Header is a record header.
func Header(key string, value []byte) kgo.RecordHeader {
	return kgo.RecordHeader{Key: key, Value: value}
}

// FindHeader is the value of the last header of that name (Kafka allows
// several; the last one counts) and whether there is one.
func FindHeader(r *kgo.Record, name string) ([]byte, bool) {
	for i := len(r.Headers) - 1; i >= 0; i-- {
		if r.Headers[i].Key == name {
			return r.Headers[i].Value, true
		}
	}
	return nil, false
}
