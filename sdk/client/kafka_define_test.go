package client_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/sdk/client"
)

const onQueues = `{"name":"d","components":{"a":{"step":"t","queue":"gpu"},"b":{"step":"orders.price","after":"a"}}}`

func TestDefiningOverKafkaCreatesTheQueuesThatItNames(t *testing.T) {
	c := brokertest.Start(t, topics.Options{Partitions: 3})
	cl, err := client.New(client.Options{Kafka: c.Config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cl.Close() })
	ctx := within(t)
	for range 2 { // the second time they are there
		if _, err := cl.Define(ctx, "d", []byte(onQueues)); err != nil {
			t.Fatal(err)
		}
	}
	set, err := topics.Default().Discover(ctx, c.Admin(t), c.Config.Prefix)
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Queues(); !slices.Equal(got, []string{"default", "gpu", "orders"}) {
		t.Fatalf("the queues are %q", got)
	}
	if err := set.Check(ctx, c.Admin(t)); err != nil {
		t.Fatalf("their topics are not as they should be: %v", err)
	}
}

func TestWhereTopicsMayNotBeCreatedAnUnknownQueueIsRefused(t *testing.T) {
	fake, c := brokertest.StartFake(t, topics.Options{Partitions: 1})
	ctx := within(t)
	fake.ControlKey(kmsg.CreateTopics.Int16(), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		resp := kreq.ResponseKind().(*kmsg.CreateTopicsResponse)
		for _, r := range kreq.(*kmsg.CreateTopicsRequest).Topics {
			rt := kmsg.NewCreateTopicsResponseTopic()
			rt.Topic, rt.ErrorCode = r.Topic, kerr.TopicAuthorizationFailed.Code
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
	cl, err := client.New(client.Options{Kafka: c.Config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cl.Close() })
	_, err = cl.Define(ctx, "d", []byte(onQueues))
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != "unknown_queue" || !strings.Contains(err.Error(), "heddle topics apply --queue gpu") {
		t.Fatalf("got %v", err)
	}
}
