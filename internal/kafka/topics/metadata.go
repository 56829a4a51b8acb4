package topics

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// shape is what metadata says of a topic.
type shape struct {
	partitions int32
	replicas   int16
}

// metadata asks a broker now, one of a client's or a certain one: kadm and kgo answer from a cache, in which a
// topic that was just created does not exist yet. Without names it asks for
// all topics. Topics that do not exist are left out. It tells the brokers of the cluster, too.
func metadata(ctx context.Context, of kmsg.Requestor, names ...string) (shapes map[string]shape, brokers []int32, err error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, of)
	if err != nil {
		return nil, nil, fmt.Errorf("list topics: %w", err)
	}
	shapes = map[string]shape{}
	for _, t := range resp.Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		switch {
		case errors.Is(err, kerr.UnknownTopicOrPartition) || t.Topic == nil:
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("describe topic %s: %w", *t.Topic, err)
		}
		s := shape{partitions: int32(len(t.Partitions))}
		for _, p := range t.Partitions {
			s.replicas = max(s.replicas, int16(len(p.Replicas)))
		}
		shapes[*t.Topic] = s
	}
	for _, b := range resp.Brokers {
		brokers = append(brokers, b.NodeID)
	}
	return shapes, brokers, nil
}
