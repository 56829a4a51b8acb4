//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
	"github.com/testcontainers/testcontainers-go/wait"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/test/ports"
)

// three is a cluster of three nodes, each controller and broker. Data has three
// replicas, and a new leader within seconds; the offsets of groups have one, so that
// the coordinator of all groups is away for as long as its broker is.
type three struct {
	brokers string
	nodes   []string                   // containers by node id, less one
	ours    []testcontainers.Container // what end removes
	network *testcontainers.DockerNetwork
	clock   string // the library that gives a node a clock of its own; empty: nothing has built it
	err     error
}

var (
	theThree three
	once     sync.Once
)

// onThree deploys on the cluster of three, which the first test starts and run ends.
// Its tests take turns, as they break brokers.
func onThree(t *testing.T, planners int) *deployment {
	t.Helper()
	once.Do(func() {
		began := time.Now()
		theThree.err = theThree.start(context.Background())
		t.Logf("three brokers after %s", time.Since(began).Round(time.Millisecond))
	})
	if theThree.err != nil {
		t.Fatalf("starting three brokers: %v", theThree.err)
	}
	return deployOn(t, theThree.brokers, planners)
}

func (c *three) start(ctx context.Context) (err error) {
	if c.brokers = os.Getenv("HEDDLE_KAFKA_THREE"); c.brokers != "" { // of containers kafka-1 to kafka-3
		c.nodes = []string{"kafka-1", "kafka-2", "kafka-3"}
		return nil
	}
	if c.network, err = tcnetwork.New(ctx); err != nil {
		return err
	}
	if c.clock, err = clockLibrary(ctx); err != nil {
		return err
	}
	var addrs []netip.AddrPort
	for range 3 {
		addr, err := ports.Free(ctx)
		if err != nil {
			return err
		}
		addrs = append(addrs, addr)
	}
	c.ours = make([]testcontainers.Container, len(addrs))
	failed := make([]error, len(addrs))
	var all sync.WaitGroup
	for i, addr := range addrs {
		c.brokers += "," + addr.String()
		all.Go(func() { c.ours[i], failed[i] = c.node(ctx, i+1, addr) })
	}
	all.Wait()
	c.brokers = strings.TrimPrefix(c.brokers, ",")
	if err := errors.Join(failed...); err != nil {
		return err
	}
	for _, n := range c.ours {
		c.nodes = append(c.nodes, n.GetContainerID())
	}
	return nil
}

// node starts one of the nodes.
func (c *three) node(ctx context.Context, id int, addr netip.AddrPort) (testcontainers.Container, error) {
	host := fmt.Sprintf("kafka-%d", id)
	env := brokerSettings(addr)
	maps.Copy(env, map[string]string{
		"KAFKA_NODE_ID":                                  fmt.Sprint(id),
		"CLUSTER_ID":                                     "5L6g3nShT-eMCtK--X86sw",
		"KAFKA_CONTROLLER_QUORUM_VOTERS":                 "1@kafka-1:9093,2@kafka-2:9093,3@kafka-3:9093",
		"KAFKA_ADVERTISED_LISTENERS":                     "INTERNAL://" + host + ":9092,EXTERNAL://" + addr.String(),
		"KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS":             "1",
		"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "3",
		"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR":            "2",
		"KAFKA_BROKER_SESSION_TIMEOUT_MS":                "2000",
		"KAFKA_BROKER_HEARTBEAT_INTERVAL_MS":             "500",
		"KAFKA_REPLICA_LAG_TIME_MAX_MS":                  "2000",
		// What brokers ask of each other hangs as long as one that stalls, by default
		// for 30 s: longer than a lease.
		"KAFKA_CONTROLLER_SOCKET_TIMEOUT_MS": "2000",
		"KAFKA_REPLICA_SOCKET_TIMEOUT_MS":    "2000",
		"KAFKA_REQUEST_TIMEOUT_MS":           "2000",
	})
	return testcontainers.Run(ctx, image(),
		testcontainers.WithEnv(env),
		c.withClock(),
		testcontainers.WithExposedPorts("19092/tcp"),
		tcnetwork.WithNetwork([]string{host}, c.network),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
			h.PortBindings = network.PortMap{network.MustParsePort("19092/tcp"): {
				{HostIP: addr.Addr(), HostPort: fmt.Sprint(addr.Port())},
			}}
		}),
		testcontainers.WithLabels(map[string]string{"run.heddle.test": "integration"}),
		testcontainers.WithWaitStrategyAndDeadline(startLimit, wait.ForLog("Kafka Server started").WithStartupTimeout(startLimit)),
	)
}

// end removes what was started.
func (c *three) end() error {
	var all error
	for _, n := range c.ours {
		all = errors.Join(all, testcontainers.TerminateContainer(n))
	}
	if c.network != nil {
		all = errors.Join(all, c.network.Remove(context.Background()))
	}
	return all
}

// admin asks the cluster of a deployment.
func (d *deployment) admin() *kadm.Client { return kadm.NewClient(d.client()) }

// remake deletes a topic and makes it anew, with the same settings.
func (d *deployment) remake(topic string) {
	d.t.Helper()
	adm := d.admin()
	if _, err := adm.DeleteTopic(d.t.Context(), topic); err != nil {
		d.t.Fatalf("deleting %s: %v", topic, err)
	}
	eventually(d.t, readyLimit, topic+" is made anew", d.applyTopics)
}

// foreignTransaction opens a transaction of another system in the partition of
// commands that a workflow has, with one record.
func (d *deployment) foreignTransaction(workflow string) *kgo.Client {
	d.t.Helper()
	cl := d.client(kgo.TransactionalID("another-system-"+d.prefix), kgo.TransactionTimeout(time.Minute))
	if err := cl.BeginTransaction(); err != nil {
		d.t.Fatal(err)
	}
	d.produce(cl, &kgo.Record{Topic: d.names.Commands(), Key: []byte(workflow), Value: []byte(`{"command":"checkpoint","id":"foreign"}`)})
	return cl
}
