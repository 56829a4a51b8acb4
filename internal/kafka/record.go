package kafka

import "github.com/twmb/franz-go/pkg/kgo"

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
