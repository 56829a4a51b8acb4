// Package brokertest starts embedded brokers for tests, on loopback or in a
// bubble of testing/synctest, with the topics of a deployment applied.
package brokertest

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// Cluster is a broker with a deployment's topics, and how to reach it.
type Cluster struct {
	Broker *broker.Broker // nil on a cluster of another kind
	Config kafka.Config
	Topics *topics.Set

	bubble bool
}

// brokersVariable names, comma separated, a real cluster that Start uses
// instead of an embedded broker: the same tests then say where the two differ.
const brokersVariable = "HEDDLE_TEST_BROKERS"

// Start runs a broker in memory on a free loopback port until the test ends.
// With HEDDLE_TEST_BROKERS it uses that cluster under a prefix of the test's
// own, and Broker is nil.
func Start(t testing.TB, o topics.Options) *Cluster {
	t.Helper()
	if brokers := os.Getenv(brokersVariable); brokers != "" {
		return join(t, strings.Split(brokers, ","), o)
	}
	return start(t, broker.Options{}, o)
}

func join(t testing.TB, brokers []string, o topics.Options) *Cluster {
	t.Helper()
	o.Prefix = fmt.Sprintf("test-%x.", rand.Uint32())
	c := &Cluster{Config: kafka.Config{Brokers: brokers, Prefix: o.Prefix}}
	c.apply(t, o)
	return c
}

// StartDir runs a broker on a data directory, on a free loopback port.
func StartDir(t testing.TB, dir string, o topics.Options) *Cluster {
	return start(t, broker.Options{Dir: dir}, o)
}

// StartFake runs a bare kfake cluster until the test ends, for tests of what
// other clusters refuse: ControlKey answers in the cluster's place. It has one
// broker unless told.
func StartFake(t testing.TB, o topics.Options, fo ...kfake.Opt) (*kfake.Cluster, *Cluster) {
	t.Helper()
	c := &Cluster{}
	return c.startFake(t, o, fo...), c
}

// StartFakeInBubble is StartFake inside the calling test's bubble, as StartInBubble is.
func StartFakeInBubble(t testing.TB, o topics.Options) (*kfake.Cluster, *Cluster) {
	t.Helper()
	network := new(kfake.VirtualNetwork)
	c := &Cluster{Config: kafka.Config{Dialer: network.DialContext}, bubble: true}
	return c.startFake(t, o, kfake.ListenFn(network.Listen)), c
}

func (c *Cluster) startFake(t testing.TB, o topics.Options, fo ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	fake, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, fo...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	c.Config.Brokers = fake.ListenAddrs()
	c.apply(t, o)
	return fake
}

// StartInBubble runs a broker in memory inside the calling test's bubble: all
// waiting is virtual. Close clients with Cluster.Close, or call synctest.Wait
// before closing them.
func StartInBubble(t testing.TB, o topics.Options) *Cluster {
	c := start(t, broker.Options{Network: new(kfake.VirtualNetwork)}, o)
	c.bubble = true
	return c
}

func start(t testing.TB, bo broker.Options, to topics.Options) *Cluster {
	t.Helper()
	b, err := broker.Start(context.Background(), bo)
	if err != nil {
		t.Fatalf("start the broker: %v", err)
	}
	c := &Cluster{Broker: b, Config: kafka.Config{Brokers: []string{b.Addr()}, Prefix: to.Prefix}}
	if bo.Network != nil {
		c.Config.Dialer = bo.Network.DialContext
		c.bubble = true
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close the broker: %v", err)
		}
	})
	c.apply(t, to)
	return c
}

// Without is the cluster as of a deployment of a prefix that has no topics yet, and
// what makes them.
func (c *Cluster) Without(t testing.TB, prefix string) (later *Cluster, apply func()) {
	t.Helper()
	o := topics.Options{Prefix: prefix, Partitions: c.Topics.Partitions()}
	later = &Cluster{Broker: c.Broker, Config: c.Config, bubble: c.bubble}
	later.Config.Prefix = prefix
	set, err := topics.Default().Set(o)
	if err != nil {
		t.Fatalf("topics: %v", err)
	}
	later.Topics = set
	return later, func() { later.apply(t, o) }
}

func (c *Cluster) apply(t testing.TB, o topics.Options) {
	t.Helper()
	if o.Partitions == 0 {
		o.Partitions = 4
	}
	var err error
	if c.Topics, err = topics.Default().Set(o); err != nil {
		t.Fatalf("topics: %v", err)
	}
	if _, err := c.Topics.Apply(context.Background(), c.Admin(t)); err != nil {
		t.Fatalf("apply topics: %v", err)
	}
}

// Admin is a client for administration that lives as long as the test.
func (c *Cluster) Admin(t testing.TB) *kgo.Client {
	t.Helper()
	cl, err := kafka.NewAdmin(c.Config)
	if err != nil {
		t.Fatalf("admin client: %v", err)
	}
	t.Cleanup(func() { c.Close(cl) })
	return cl
}

// Close closes a client, in a bubble after everything in it has come to rest:
// kgo would otherwise wait for goroutines that the bubble has not let run.
func (c *Cluster) Close(cl *kgo.Client) {
	if c.bubble {
		synctest.Wait()
	}
	cl.Close()
}

// Remake deletes a topic and makes another one of its name, with as many
// partitions. Clients that know the old one do not know the new one.
func (c *Cluster) Remake(t testing.TB, topic string) {
	t.Helper()
	adm := kadm.NewClient(c.Admin(t))
	details, err := adm.ListTopics(context.Background(), topic)
	if err == nil {
		err = details.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := adm.DeleteTopic(context.Background(), topic); err != nil {
		t.Fatal(err)
	}
	if _, err := adm.CreateTopic(context.Background(), int32(len(details[topic].Partitions)), 1, nil, topic); err != nil {
		t.Fatal(err)
	}
}

// Lower sets the largest batch that a topic takes.
func (c *Cluster) Lower(t testing.TB, topic string, bytes int) {
	t.Helper()
	value := strconv.Itoa(bytes)
	all, err := kadm.NewClient(c.Admin(t)).AlterTopicConfigs(context.Background(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &value}}, topic)
	for _, one := range all {
		err = errors.Join(err, one.Err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Noise is a text of so many bytes that no compression makes shorter than half.
func Noise(rng *rand.ChaCha8, bytes int) string {
	b := make([]byte, bytes/2)
	_, _ = rng.Read(b) // it never fails
	return hex.EncodeToString(b)
}
