package kafkaclient_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
)

const onQueues = `{"name":"d","components":{"a":{"step":"t","queue":"gpu"},"b":{"step":"orders.price","after":"a"}}}`

func TestDefiningOverKafkaCreatesTheQueuesThatItNames(t *testing.T) {
	c := brokertest.Start(t, topics.Options{Partitions: 3})
	cl, err := kafkaclient.New(within(t), kafkaclient.Options{Brokers: c.Config.Brokers, Prefix: c.Config.Prefix, Dialer: c.Config.Dialer})
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

// withoutCreation is a client of a cluster where others create the topics.
func withoutCreation(t *testing.T) *client.Client {
	t.Helper()
	fake, c := brokertest.StartFake(t, topics.Options{Partitions: 1})
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
	cl, err := kafkaclient.New(within(t), kafkaclient.Options{Brokers: c.Config.Brokers, Prefix: c.Config.Prefix, Dialer: c.Config.Dialer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cl.Close() })
	return cl
}

func TestWhereTopicsMayNotBeCreatedAnUnknownQueueIsRefused(t *testing.T) {
	cl := withoutCreation(t)
	for what, do := range map[string]func() error{
		"define":       func() error { _, err := cl.Define(within(t), "d", []byte(onQueues)); return err },
		"inline start": func() error { _, err := cl.Start(within(t), onQueues, 1, client.StartOptions{}); return err },
	} {
		err := do()
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Code != "unknown_queue" || !strings.Contains(err.Error(), "heddle topics apply --queue gpu") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// An inline definition is registered nowhere: its start sees to its queues, the
// first time.
func TestStartingAnInlineDefinitionOverKafkaCreatesItsQueues(t *testing.T) {
	fake, c := brokertest.StartFake(t, topics.Options{Partitions: 1})
	requesttest.Start(t, c.Config, requesttest.Echo)
	cl, err := kafkaclient.New(within(t), kafkaclient.Options{Brokers: c.Config.Brokers, Prefix: c.Config.Prefix, Dialer: c.Config.Dialer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cl.Close() })
	ctx := within(t)
	var made atomic.Int32
	fake.ControlKey(kmsg.CreateTopics.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		made.Add(1)
		return nil, nil, false
	})
	for range 2 {
		if _, err := cl.Start(ctx, onQueues, 1, client.StartOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	set, err := topics.Default().Discover(ctx, c.Admin(t), c.Config.Prefix)
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Queues(); !slices.Equal(got, []string{"default", "gpu", "orders"}) || made.Load() != 2 {
		t.Errorf("the queues are %q after %d topics were made", got, made.Load())
	}
	var asked atomic.Int32 // for all topics: no producer or consumer does
	fake.ControlKey(kmsg.Metadata.Int16(), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if kreq.(*kmsg.MetadataRequest).Topics == nil {
			asked.Add(1)
		}
		return nil, nil, false
	})
	if _, err := cl.Start(ctx, onQueues, 2, client.StartOptions{}); err != nil || asked.Load() > 0 {
		t.Errorf("a further start ended with %v and asked for the topics %d times", err, asked.Load())
	}
	if _, err := cl.Start(ctx, `{"components":{"a":{}}}`, 1, client.StartOptions{}); err != nil {
		t.Errorf("what the planner is to refuse did not get there: %v", err)
	}
}

func TestDefiningOverKafkaWarnsOfAVersionThatChanges(t *testing.T) {
	c := brokertest.Start(t, topics.Options{Partitions: 1})
	cl, err := kafkaclient.New(within(t), kafkaclient.Options{Brokers: c.Config.Brokers, Prefix: c.Config.Prefix, Dialer: c.Config.Dialer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cl.Close() })
	const src = `{"name":"d","version":"1","components":{"a":{"expr":"input * 2"}}}`
	first, err := cl.Define(within(t), "d", []byte(src))
	if err != nil || first.Replaces != "" {
		t.Fatalf("the first: %+v, %v", first, err)
	}
	second, err := cl.Define(within(t), "d", []byte(strings.Replace(src, "2", "3", 1)))
	if err != nil || second.Replaces != first.Digest || len(second.Warnings) != 1 ||
		!strings.Contains(second.Warnings[0].Message, first.Digest+" and is "+second.Digest) {
		t.Fatalf("another under the same version: %+v, %v", second, err)
	}
}
