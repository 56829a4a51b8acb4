package kafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
)

// OffsetOf picks the answer for one partition from a question about all of a
// topic. An error of another partition, or of the broker that leads it, is not
// this one's: one without a leader says nothing about the rest.
func OffsetOf(all kadm.ListedOffsets, err error, topic string, partition int32) (int64, error) {
	if o, ok := all.Lookup(topic, partition); ok {
		return o.Offset, o.Err
	}
	if err == nil {
		err = all.Error()
	}
	if err == nil {
		err = fmt.Errorf("topic %s has no partition %d", topic, partition)
	}
	return 0, err
}
