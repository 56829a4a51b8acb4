// Package brokertest starts embedded brokers for tests, on loopback or in a
// bubble of testing/synctest, with the topics of a deployment applied.
package brokertest

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// Cluster is a broker with a deployment's topics, and how to reach it.
type Cluster struct {
	Broker *broker.Broker
	Config kafka.Config
	Topics *topics.Set

	bubble bool
}

// Start runs a broker in memory on a free loopback port until the test ends.
func Start(t testing.TB, o topics.Options) *Cluster {
	return start(t, broker.Options{}, o)
}

// StartDir runs a broker on a data directory, on a free loopback port.
func StartDir(t testing.TB, dir string, o topics.Options) *Cluster {
	return start(t, broker.Options{Dir: dir}, o)
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
	if to.Partitions == 0 {
		to.Partitions = 4
	}
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
	c.Topics, err = topics.Default().Set(to)
	if err != nil {
		t.Fatalf("topics: %v", err)
	}
	if _, err := c.Topics.Apply(context.Background(), c.Admin(t)); err != nil {
		t.Fatalf("apply topics: %v", err)
	}
	return c
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
