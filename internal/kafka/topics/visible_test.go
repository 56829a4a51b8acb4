package topics_test

import (
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

func fakeCluster(t *testing.T, brokers int) *kfake.Cluster {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(brokers))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	return fake
}

// applyTo makes the topics of three partitions.
func applyTo(t *testing.T, fake *kfake.Cluster) {
	t.Helper()
	cl, err := kafka.NewAdmin(kafka.Config{Brokers: fake.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	if _, err := newSet(t, topics.Options{Partitions: 3}).Apply(t.Context(), cl); err != nil {
		t.Fatal(err)
	}
}

// A broker that has not heard of a new topic yet is asked again.
func TestApplyWaitsUntilABrokerKnowsWhatWasMade(t *testing.T) {
	fake := fakeCluster(t, 1)
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
	applyTo(t, fake)
	if n := asked.Load(); n < 3 {
		t.Errorf("the broker was asked %d times", n)
	}
}

// One of three brokers that has not heard of a new topic is asked again, too: a service
// that starts next may ask that one.
func TestApplyWaitsUntilEveryBrokerKnowsWhatWasMade(t *testing.T) {
	fake := fakeCluster(t, 3)
	const late = 2
	var asked atomic.Int32
	fake.ControlKey(kmsg.Metadata.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		names := req.(*kmsg.MetadataRequest).Topics
		if fake.CurrentNode() != late || len(names) == 0 || asked.Add(1) > 3 {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		for _, name := range names {
			unknown := kmsg.NewMetadataResponseTopic()
			unknown.Topic, unknown.ErrorCode = name.Topic, kerr.UnknownTopicOrPartition.Code
			resp.Topics = append(resp.Topics, unknown)
		}
		for id, addr := range fake.ListenAddrs() {
			at := netip.MustParseAddrPort(addr)
			b := kmsg.NewMetadataResponseBroker()
			b.NodeID, b.Host, b.Port = int32(id), at.Addr().String(), int32(at.Port())
			resp.Brokers = append(resp.Brokers, b)
		}
		return resp, nil, true
	})
	applyTo(t, fake)
	if n := asked.Load(); n <= 3 {
		t.Errorf("the broker that is late was asked %d times", n)
	}
}
