package request

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

const (
	// DefaultMaxWaiting bounds the requests that wait for a reply.
	DefaultMaxWaiting = 1 << 16

	// DefaultProduceTimeout is longer than brokers take to elect a leader.
	DefaultProduceTimeout = time.Minute

	// DefaultResendAfter is longer than a partition takes to change its owner
	// without a crash.
	DefaultResendAfter = 5 * time.Second

	// topicWait is how long the topics of a deployment that starts are waited for,
	// and topicPause how often they are looked for.
	topicWait  = 10 * time.Second
	topicPause = 100 * time.Millisecond
)

var (
	// ErrBusy is a request beyond MaxWaiting.
	ErrBusy = errors.New("too many requests wait for a reply")
	// ErrUnavailable is a request that Kafka did not take in time. The record
	// may still have been written; repeating it under its id is harmless.
	ErrUnavailable = errors.New("kafka is unavailable")
	// ErrClosed is a request to a Client that is closed.
	ErrClosed = errors.New("closed")
	// ErrRepliesLost ends the wait of those whose reply may have been skipped.
	ErrRepliesLost = errors.New("the replies topic lost records; the reply may have been one of them")
)

// Options of a Client.
type Options struct {
	Kafka      kafka.Config
	Source     string       // ce_source of commands: the sender, for the dedupe key
	MaxWaiting int          // 0: DefaultMaxWaiting
	Logger     *slog.Logger // nil: silent

	// ProduceTimeout is how long a request may wait for Kafka before it is
	// ErrUnavailable, also when its context has ended; 0: DefaultProduceTimeout.
	ProduceTimeout time.Duration

	// ResendAfter is how long a reply that tells a decision may take before the
	// command is sent again under its id; 0: DefaultResendAfter.
	ResendAfter time.Duration
}

// Client is safe for concurrent use. Close it.
type Client struct {
	names   topics.Names
	source  []byte
	address []byte
	logger  *slog.Logger

	producer  *kgo.Client
	replies   *kgo.Client
	partition int32  // the partition of the address
	said      string // what keeps replies from being read, as it was said
	stop      context.CancelFunc
	done      chan struct{}

	produceTimeout time.Duration
	resendAfter    time.Duration

	number     atomic.Uint64
	maxWaiting int
	mu         sync.Mutex
	waiting    map[string]*Call
	closed     bool
}

// Open makes a Client and finds its partition of the replies topic: ctx bounds that. A
// topic that is not there yet is waited for, ten seconds at most.
func Open(ctx context.Context, o Options) (*Client, error) {
	names, err := o.Kafka.Names()
	if err != nil {
		return nil, err
	}
	cl := &Client{
		names: names, source: []byte(o.Source), address: []byte(rand.Text()), logger: o.Logger,
		produceTimeout: o.ProduceTimeout, resendAfter: o.ResendAfter, maxWaiting: o.MaxWaiting, waiting: map[string]*Call{}, done: make(chan struct{}),
	}
	if cl.produceTimeout == 0 {
		cl.produceTimeout = DefaultProduceTimeout
	}
	if cl.resendAfter <= 0 {
		cl.resendAfter = DefaultResendAfter
	}
	if cl.maxWaiting == 0 {
		cl.maxWaiting = DefaultMaxWaiting
	}
	if cl.logger == nil {
		cl.logger = slog.New(slog.DiscardHandler)
	}
	if cl.producer, err = kafka.NewEffectsProducer(o.Kafka); err != nil {
		return nil, err
	}
	if cl.replies, err = kafka.NewPartitionConsumer(o.Kafka); err != nil {
		cl.producer.Close()
		return nil, err
	}
	if err = cl.locate(ctx); err != nil {
		err = fmt.Errorf("find the partition of replies in %s: %w", names.Replies(), err)
	} else {
		err = kafka.MayWrite(ctx, cl.producer)
	}
	if err != nil {
		cl.producer.Close()
		cl.replies.Close()
		return nil, err
	}
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	cl.stop = stop
	go cl.read(reading)
	return cl, nil
}

// Close ends all waits and closes the clients.
func (cl *Client) Close() error {
	cl.mu.Lock()
	if cl.closed {
		cl.mu.Unlock()
		return nil
	}
	cl.closed = true
	cl.mu.Unlock()
	cl.stop()
	<-cl.done
	cl.failAll(ErrClosed)
	cl.replies.Close()
	cl.producer.Close()
	return nil
}

// Ping reports whether a broker answers.
func (cl *Client) Ping(ctx context.Context) error {
	if err := cl.producer.Ping(ctx); err != nil {
		return fmt.Errorf("no broker answers: %w", err)
	}
	return nil
}

// Address is the key of the replies to this Client.
func (cl *Client) Address() string { return string(cl.address) }

// Waiting is how many requests wait for a reply.
func (cl *Client) Waiting() int {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return len(cl.waiting)
}

// nextID is unique in all deployments: the address is random.
func (cl *Client) nextID() string {
	b := make([]byte, 0, len(cl.address)+14)
	b = append(append(b, cl.address...), '-')
	return string(strconv.AppendUint(b, cl.number.Add(1), 36))
}
