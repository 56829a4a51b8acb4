package kafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// Headers of internal records, which say which version their format has. Nobody changes
// them.
var (
	InboxFormat  = formatOf(events.InboxVersion)
	TaskFormat   = formatOf(events.TaskVersion)
	StateFormat  = formatOf(events.Version)
	RunnerFormat = formatOf(events.RunnerVersion)
	TunnelFormat = formatOf(events.TunnelVersion)
)

func formatOf(version uint64) []kgo.RecordHeader {
	return []kgo.RecordHeader{{Key: wire.FormatHeader, Value: wire.Format(version)}}
}

// CheckFormat returns a *wire.FormatError for a record of a later format than this
// program knows, and another error if its header says no version.
func CheckFormat(r *kgo.Record, knows uint64) error {
	value, ok := FindHeader(r, wire.FormatHeader)
	if !ok || len(value) == 1 && value[0] == '1' {
		return nil
	}
	has, err := wire.ParseFormat(value)
	if err == nil && has > knows {
		err = &wire.FormatError{What: fmt.Sprintf("the record at %s/%d@%d", r.Topic, r.Partition, r.Offset), Has: has, Knows: knows}
	}
	return err
}
