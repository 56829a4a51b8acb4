package topics

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// shape is what metadata says of a topic.
type shape struct {
	partitions int32
	replicas   int16
}

// metadata asks a broker now: kadm and kgo answer from a cache, in which a
// topic that was just created does not exist yet. Without names it asks for
// all topics. Topics that do not exist are left out.
func metadata(ctx context.Context, cl *kgo.Client, names ...string) (shapes map[string]shape, brokers int, err error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, 0, fmt.Errorf("list topics: %w", err)
	}
	shapes = map[string]shape{}
	for _, t := range resp.Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		switch {
		case errors.Is(err, kerr.UnknownTopicOrPartition) || t.Topic == nil:
			continue
		case err != nil:
			return nil, 0, fmt.Errorf("describe topic %s: %w", *t.Topic, err)
		}
		s := shape{partitions: int32(len(t.Partitions))}
		for _, p := range t.Partitions {
			s.replicas = max(s.replicas, int16(len(p.Replicas)))
		}
		shapes[*t.Topic] = s
	}
	return shapes, len(resp.Brokers), nil
}
