// Package kafka holds every option of every Kafka client in one place, with the
// reason for each, and the small things that all services need around records:
// partitions, headers, classes of errors, and the transactions of checkpoints.
//
// Each purpose has a client of its own: a produce that blocks one of them (a
// tasks partition without a leader) must not block another (the journal, the
// lease).
package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// Dialer opens connections to brokers.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// Config says how to reach a cluster. It is a value; copies are independent.
type Config struct {
	Brokers  []string
	Prefix   string // of topics, groups and transactional ids; empty: the default
	ClientID string // shown in the broker's logs and quotas; empty: "heddle"

	Dialer Dialer         // nil: TCP. Tests dial their virtual network.
	TLS    *tls.Config    // over what the dialer opens; nil: plain text
	SASL   sasl.Mechanism // nil: none
	// Security is what TLS and SASL are made of where they are nil.
	Security Security
	Limits   *Limits      // what was learnt of brokers that take less than topics.yaml wants; nil: nothing
	Logger   *slog.Logger // nil: silent
	Hook     kgo.Hook     // nil: none. Tests see what their clients write and read.
	// Patience is how long a broker that does not answer is waited for, beyond what the
	// request itself gives it, before the request goes to where it belongs by then;
	// at least 100 ms; 0: kgo's 10 s, which outlasts a lease.
	Patience time.Duration
}

// Names are the names under the configured prefix.
func (c Config) Names() (topics.Names, error) { return topics.NewNames(c.Prefix) }

const (
	// metadataMinAge bounds how often metadata is asked for when something
	// looks wrong. kgo's 5 s would add that much to every leader change.
	metadataMinAge = 250 * time.Millisecond

	// metadataMaxAge bounds how late added partitions and topics are noticed.
	metadataMaxAge = time.Minute

	// connIdle is below Kafka's connections.max.idle.ms (10 min): the client
	// closes first, so no request is lost on a connection the broker closed.
	connIdle = 5 * time.Minute
)

// base are the options that every client shares.
func (c Config) base(names topics.Names, role string) []kgo.Opt {
	id := c.ClientID
	if id == "" {
		id = "heddle"
	}
	spec := topics.Default()
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...),
		kgo.ClientID(id + "-" + role),
		kgo.SoftwareNameAndVersion("heddle", "1"),
		kgo.MetadataMinAge(metadataMinAge),
		kgo.MetadataMaxAge(metadataMaxAge),
		kgo.ConnIdleTimeout(connIdle),
		// Brokers may ask clients to push metrics (KIP-714); ours have their own.
		kgo.DisableClientMetrics(),
		kgo.RetryBackoffFn(backoff),
		// A client's largest batch is the broker's largest, topic by topic:
		// what is too large is then refused here, alone, instead of by the
		// broker, which fails every record buffered for that partition.
		kgo.ProducerBatchMaxBytesFn(func(topic string) int32 { return c.Limits.Of(topic, spec.MaxBytes(names, topic)) }),
		kgo.WithLogger(kgoLogger(c.Logger)),
		kgo.Dialer(c.dialer()),
	}
	if c.Hook != nil {
		opts = append(opts, kgo.WithHooks(c.Hook))
	}
	if c.SASL != nil {
		opts = append(opts, kgo.SASL(c.SASL))
	}
	if c.Patience > 0 {
		opts = append(opts, kgo.RequestTimeoutOverhead(c.Patience))
	}
	return opts
}

// backoff grows from 25 ms to 2 s: the embedded broker is back within
// milliseconds of a restart, and a cluster is not harmed by a try every 2 s.
func backoff(failures int) time.Duration {
	const first, most = 25 * time.Millisecond, 2 * time.Second
	if failures > 7 {
		return most
	}
	return min(most, first<<max(0, failures-1))
}

// client makes a client, checking what kgo does not.
func (c Config) client(role string, opts ...kgo.Opt) (*kgo.Client, error) {
	if len(c.Brokers) == 0 {
		return nil, errors.New("no Kafka brokers given")
	}
	names, err := c.Names()
	if err != nil {
		return nil, err
	}
	if c, err = c.secured(); err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(append(c.base(names, role), opts...)...)
	if err != nil {
		return nil, fmt.Errorf("kafka: %s client: %w", role, err)
	}
	return cl, nil
}

// NewAdmin makes a client for administration and raw requests (topics, offsets,
// ListOffsets). It neither produces nor consumes. The caller closes it.
func NewAdmin(c Config) (*kgo.Client, error) { return c.client("admin") }
