package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/internal/kafka"
)

// Options say how to reach a deployment. With neither URL nor Brokers a running
// `heddle dev` is looked for in the working directory and above it, else a gateway is
// expected at 127.0.0.1:4080.
type Options struct {
	URL     string   // of a gateway
	Brokers []string // of Kafka
	Prefix  string   // of the deployment's topics; empty: the default

	// Source is who asks: the ce_source of commands over Kafka, and with their
	// ids what duplicates are known by. Empty: "client".
	Source string
	// MaxWaiting bounds the calls that wait for an answer over Kafka; 0: 65,536.
	MaxWaiting int

	HTTPClient *http.Client // nil: one of its own
	APIKey     string       // sent as a bearer token
	Security   Security     // TLS and login over Kafka, of files and values
	Kafka      kafka.Config // TLS, SASL, dialer, logger over Kafka as values, which win; Brokers and Prefix above win
}

// Security says how connections to Kafka are encrypted and who the client is.
type Security = kafka.Security

// Client is safe for concurrent use. Close it.
type Client struct {
	t transport
}

// New connects. Over Kafka it finds its place in the replies topic, which is
// bounded by ten seconds.
func New(o Options) (*Client, error) {
	if o.URL != "" && len(o.Brokers) > 0 {
		return nil, errors.New("client: give a URL or brokers, not both")
	}
	if o.URL == "" && len(o.Brokers) == 0 && len(o.Kafka.Brokers) == 0 {
		dev, err := devfile.Running()
		if err != nil {
			return nil, fmt.Errorf("client: no URL, no brokers: %w", err)
		}
		o.URL = dev.URL
	}
	var t transport
	var err error
	if o.URL != "" {
		t, err = newHTTPTransport(o)
	} else {
		t, err = newKafkaTransport(o)
	}
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &Client{t: t}, nil
}

// Close releases connections; calls that wait end with an error.
func (c *Client) Close() error { return c.t.close() }

// command is one command on its way to a planner.
type command struct {
	name     string
	workflow string
	id       string // idempotency; empty: a new one
	token    string // of the attempt that it is about, or empty
	body     []byte // the JSON object, without the token
	wait     waitMode
}

type waitMode uint8

const (
	waitNone    waitMode = iota // until Kafka has it
	waitDecided                 // until the planner decided
	waitDrained                 // until the work is done
)

// answer is what a command led to. Workflow and Results are as far as known.
type answer struct {
	workflow *Workflow
	results  map[string]rawJSON
	drained  bool
}

// query is a read.
type query struct {
	kind     string
	workflow string
	all      bool
	cursor   string
	limit    int
	status   string
}

// transport is a way to reach a deployment. Errors are *Error, ctx's own, or
// faults.
type transport interface {
	command(ctx context.Context, c command) (answer, error)
	query(ctx context.Context, q query) (rawJSON, error)
	await(ctx context.Context, workflow string) (answer, error) // until drained
	history(ctx context.Context, workflow, cursor string, limit int) (rawJSON, error)
	events(ctx context.Context, workflow string, yield func(Event) bool) error
	define(ctx context.Context, name string, source []byte) (*Definition, error)
	defined(ref string) (digest string, canonical []byte) // by this client; empty when not needed
	prepare(ctx context.Context, inline string) error     // what a start needs of an inline definition
	list(ctx context.Context, f Filter) (rawJSON, error)
	readiness(ctx context.Context) (rawJSON, error)
	graph(ctx context.Context, workflow, format string) ([]byte, error)
	close() error
}
