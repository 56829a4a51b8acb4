package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
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

// Committed is what a group has committed of a topic, by partition.
func Committed(ctx context.Context, cl *kgo.Client, group, topic string) (map[int32]Position, error) {
	all, err := kadm.NewClient(cl).FetchOffsets(ctx, group)
	if err != nil {
		return nil, fmt.Errorf("ask what %s has committed: %w", group, err)
	}
	found := map[int32]Position{}
	for p, o := range all[topic] {
		switch {
		case o.Err != nil:
			err = fmt.Errorf("ask what %s has committed of %s/%d: %w", group, topic, p, o.Err)
		case o.At >= 0:
			found[p] = Position{Offset: o.At, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata}
		}
	}
	return found, err
}
