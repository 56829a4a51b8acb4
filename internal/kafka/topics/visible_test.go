package topics_test

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// A broker that has not heard of a new topic yet is asked again.
func TestApplyWaitsUntilABrokerKnowsWhatWasMade(t *testing.T) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	var asked atomic.Int32
	fake.ControlKey(kmsg.DescribeConfigs.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if asked.Add(1) > 2 {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, r := range req.(*kmsg.DescribeConfigsRequest).Resources {
			unknown := kmsg.NewDescribeConfigsResponseResource()
			unknown.ResourceType, unknown.ResourceName, unknown.ErrorCode = r.ResourceType, r.ResourceName, kerr.UnknownTopicOrPartition.Code
			resp.Resources = append(resp.Resources, unknown)
		}
		return resp, nil, true
	})
	cl, err := kafka.NewAdmin(kafka.Config{Brokers: fake.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	set := newSet(t, topics.Options{Partitions: 3})
	if _, err := set.Apply(t.Context(), cl); err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n < 3 {
		t.Errorf("the broker was asked %d times", n)
	}
}
