//go:build integration

package integration

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/heddle-run/heddle/test/ports"
)

const defaultImage = "apache/kafka:4.3.1"

// startLimit is how long a broker may take to come up on a busy machine.
const startLimit = 5 * time.Minute

func dockerAnswers(ctx context.Context) (err error) {
	defer func() { // testcontainers panics where it finds no engine's socket
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	p, err := testcontainers.NewDockerProvider()
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Health(ctx)
}

// image is that of the brokers.
func image() string {
	if image := os.Getenv("HEDDLE_KAFKA_IMAGE"); image != "" {
		return image
	}
	return defaultImage
}

// startKafka starts one broker and sets brokers. The port is chosen beforehand,
// because a broker tells its clients under which address it is reached.
func startKafka(ctx context.Context) (stop func(), err error) {
	if brokers = os.Getenv("HEDDLE_KAFKA_BROKERS"); brokers != "" {
		return func() {}, nil
	}
	image := image()
	addr, err := ports.Free(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	c, err := testcontainers.Run(ctx, image,
		testcontainers.WithEnv(brokerSettings(addr)),
		testcontainers.WithExposedPorts("19092/tcp"),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
			h.PortBindings = network.PortMap{network.MustParsePort("19092/tcp"): {
				{HostIP: addr.Addr(), HostPort: fmt.Sprint(addr.Port())},
			}}
		}),
		testcontainers.WithLabels(map[string]string{"run.heddle.test": "integration"}),
		testcontainers.WithWaitStrategyAndDeadline(startLimit, wait.ForLog("Kafka Server started").WithStartupTimeout(startLimit)),
	)
	stop = func() {
		if err := testcontainers.TerminateContainer(c); err != nil {
			fmt.Fprintln(os.Stderr, "removing the broker's container:", err)
		}
	}
	if err != nil {
		stop()
		return nil, err
	}
	brokers = addr.String()
	fmt.Printf("%s on %s after %s\n", image, brokers, time.Since(began).Round(time.Millisecond))
	return stop, nil
}

// brokerSettings is the whole configuration of one node that is controller and
// broker; it leans on no default of the image.
func brokerSettings(external netip.AddrPort) map[string]string {
	return map[string]string{
		"KAFKA_NODE_ID":                                          "1",
		"KAFKA_PROCESS_ROLES":                                    "broker,controller",
		"KAFKA_CONTROLLER_QUORUM_VOTERS":                         "1@localhost:9093",
		"KAFKA_CONTROLLER_LISTENER_NAMES":                        "CONTROLLER",
		"KAFKA_INTER_BROKER_LISTENER_NAME":                       "INTERNAL",
		"KAFKA_LISTENERS":                                        "INTERNAL://:9092,CONTROLLER://:9093,EXTERNAL://:19092",
		"KAFKA_ADVERTISED_LISTENERS":                             "INTERNAL://localhost:9092,EXTERNAL://" + external.String(),
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP":                   "INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT,EXTERNAL:PLAINTEXT",
		"KAFKA_LOG_DIRS":                                         "/tmp/kafka-logs",
		"KAFKA_AUTO_CREATE_TOPICS_ENABLE":                        "false",
		"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR":                 "1",
		"KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS":                     "4",
		"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR":         "1",
		"KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS":             "4",
		"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR":                    "1",
		"KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR": "1",
		"KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR":            "1",
		"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS":                 "0",
		"KAFKA_HEAP_OPTS":                                        "-Xms256m -Xmx512m",
		// A test's broker lives for minutes: it should start soon, and leave the processors
		// to what is tested.
		"KAFKA_OPTS": "-XX:-UseG1GC -XX:+UseSerialGC -XX:TieredStopAtLevel=1",
	}
}
