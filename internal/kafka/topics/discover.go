package topics

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Discover is the set of a deployment that was set up before: N and the queues
// are taken from the cluster, as the partition count of `commands` and the
// topics of queues. It returns a *MismatchError when there is no such
// deployment. Discover does not Check.
func (s *Spec) Discover(ctx context.Context, cl *kgo.Client, prefix string) (*Set, error) {
	set, err := s.Set(Options{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	details, err := kadm.NewClient(cl).ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	cmds, ok := details[set.Commands()]
	if !ok || errors.Is(cmds.Err, kerr.UnknownTopicOrPartition) {
		missing := Difference{Topic: set.Commands(), Setting: settingTopic}
		return nil, &MismatchError{Prefix: set.prefix, Differences: []Difference{missing}}
	}
	o := Options{Prefix: set.prefix, Partitions: int32(len(cmds.Partitions))}
	for name, d := range details {
		if queue, ok := set.Queue(name); ok {
			o.Queues = append(o.Queues, queue)
			// A queue may have more partitions than wanted, never fewer.
			if n := int32(len(d.Partitions)); o.QueuePartitions == 0 || n < o.QueuePartitions {
				o.QueuePartitions = n
			}
		}
	}
	return s.Set(o)
}
