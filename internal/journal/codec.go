package journal

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
)

// Encode makes the Kafka record of rec for its place in the journal. The key is
// the workflow ID (nil for the partition's own records), the timestamp is the
// record's time. rec may be changed afterwards.
func Encode(rec *events.Record, names topics.Names, partition int32) *kgo.Record {
	f := &frame{}
	f.record = kgo.Record{
		Topic:     names.Journal(),
		Partition: partition,
		Value:     events.EncodeRecord(rec),
		Headers:   appendHeaders(f.headers[:0], f.digits[:0], rec),
		Timestamp: time.UnixMilli(rec.Time),
	}
	if rec.Workflow != "" {
		f.record.Key = append(f.key[:0], rec.Workflow...)
	}
	return &f.record
}

// frame is a record with room for what is around its value: one is made for
// every step.
type frame struct {
	record  kgo.Record
	headers [3]kgo.RecordHeader // of all but takeovers
	digits  [16]byte            // of epoch and seq, mostly
	key     [32]byte            // of most workflows
}

// Decode is the inverse of Encode. It fails when headers, key and value do not
// say the same. User values alias in.Value.
func Decode(in *kgo.Record) (*events.Record, error) {
	h, err := ParseHeaders(in.Headers)
	if err != nil {
		return nil, err
	}
	return decode(in, h)
}

func decode(in *kgo.Record, h Header) (*events.Record, error) {
	if err := kafka.CheckFormat(in, events.Version); err != nil {
		return nil, err
	}
	rec, err := events.DecodeRecord(in.Value)
	if err != nil {
		return nil, err
	}
	switch {
	case h != headerOf(rec):
		return nil, fmt.Errorf("headers say %+v, the value says %+v", h, headerOf(rec))
	case string(in.Key) != rec.Workflow:
		return nil, fmt.Errorf("key is %q, the value says workflow %q", in.Key, rec.Workflow)
	case in.Timestamp.UnixMilli() != rec.Time:
		return nil, fmt.Errorf("timestamp is %d, the value says %d", in.Timestamp.UnixMilli(), rec.Time)
	}
	return rec, nil
}
