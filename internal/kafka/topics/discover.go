package topics

import (
	"context"

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
	shapes, _, err := metadata(ctx, cl)
	if err != nil {
		return nil, err
	}
	commands, ok := shapes[set.Commands()]
	if !ok {
		missing := Difference{Topic: set.Commands(), Setting: settingTopic}
		return nil, &MismatchError{Prefix: set.prefix, Differences: []Difference{missing}}
	}
	o := Options{Prefix: set.prefix, Partitions: commands.partitions}
	for name, shape := range shapes {
		if queue, ok := set.Queue(name); ok {
			o.Queues = append(o.Queues, queue)
			// A queue may have more partitions than wanted, never fewer.
			if o.QueuePartitions == 0 || shape.partitions < o.QueuePartitions {
				o.QueuePartitions = shape.partitions
			}
		}
	}
	return s.Set(o)
}
