package events

import (
	"strconv"
	"time"
)

// Emission is an event for other systems that followed from a record of the journal. Made
// again of the same record it has the same id, by which its readers know repetitions.
type Emission struct {
	Workflow  string
	Type      string
	Partition int32
	Decided   Position // of the record
	Number    uint64   // among its effects
	Written   int64    // Unix ms, the record's time
}

// ID is the CloudEvent's id: PARTITION.EPOCH.SEQ.NUMBER.
func (e *Emission) ID() string {
	return strconv.Itoa(int(e.Partition)) + "." + e.Decided.String() + "." + strconv.FormatUint(e.Number, 10)
}

// Headers are those of a Kafka record whose value is the event's data as JSON: the binary
// content mode of CloudEvents 1.0's Kafka protocol binding.
func (e *Emission) Headers() []Header {
	text := func(key, value string) Header { return Header{Key: key, Value: []byte(value)} }
	return []Header{
		text("ce_specversion", "1.0"),
		text("ce_id", e.ID()),
		text("ce_source", "/v1/workflows/"+e.Workflow),
		text("ce_type", e.Type),
		text("ce_time", time.UnixMilli(e.Written).UTC().Format(time.RFC3339Nano)),
		text("content-type", "application/json"),
	}
}
