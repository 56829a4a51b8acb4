package ask

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
	// DefaultMaxWaiting bounds the questions that wait for a reply.
	DefaultMaxWaiting = 1 << 16

	// DefaultProduceTimeout is longer than brokers take to elect a leader.
	DefaultProduceTimeout = time.Minute

	// DefaultAskAgain is longer than a partition takes to change its owner
	// without a crash.
	DefaultAskAgain = 5 * time.Second

	// topicWait is how long the topics of a deployment that starts are waited for,
	// and topicPause how often they are looked for.
	topicWait  = 10 * time.Second
	topicPause = 100 * time.Millisecond
)

var (
	// ErrBusy is a question beyond MaxWaiting.
	ErrBusy = errors.New("too many questions wait for a reply")
	// ErrUnavailable is a question that Kafka did not take in time. The record
	// may still have been written; repeating it under its id is harmless.
	ErrUnavailable = errors.New("kafka is unavailable")
	// ErrClosed is a question to an Asker that is closed.
	ErrClosed = errors.New("closed")
	// ErrRepliesLost ends the wait of those whose reply may have been skipped.
	ErrRepliesLost = errors.New("the replies topic lost records; the reply may have been one of them")
)

// Options of an Asker.
type Options struct {
	Kafka      kafka.Config
	Source     string       // ce_source of commands: who asks, for the dedupe key
	MaxWaiting int          // 0: DefaultMaxWaiting
	Logger     *slog.Logger // nil: silent

	// ProduceTimeout is how long a question may wait for Kafka before it is
	// ErrUnavailable, also when its context has ended; 0: DefaultProduceTimeout.
	ProduceTimeout time.Duration

	// AskAgain is how long a reply that tells a decision may take before the
	// command is sent again under its id; 0: DefaultAskAgain.
	AskAgain time.Duration
}

// Asker is safe for concurrent use. Close it.
type Asker struct {
	names   topics.Names
	source  []byte
	address []byte
	logger  *slog.Logger

	producer *kgo.Client
	replies  *kgo.Client
	place    int32  // the partition of the address
	said     string // what keeps replies from being read, as it was said
	stop     context.CancelFunc
	done     chan struct{}

	produceTimeout time.Duration
	askAgain       time.Duration

	number     atomic.Uint64
	maxWaiting int
	mu         sync.Mutex
	waiting    map[string]*Call
	closed     bool
}

// Open makes an Asker and finds its place in the replies topic: ctx bounds that. A
// topic that is not there yet is waited for, ten seconds at most.
func Open(ctx context.Context, o Options) (*Asker, error) {
	names, err := o.Kafka.Names()
	if err != nil {
		return nil, err
	}
	a := &Asker{
		names: names, source: []byte(o.Source), address: []byte(rand.Text()), logger: o.Logger,
		produceTimeout: o.ProduceTimeout, askAgain: o.AskAgain, maxWaiting: o.MaxWaiting, waiting: map[string]*Call{}, done: make(chan struct{}),
	}
	if a.produceTimeout == 0 {
		a.produceTimeout = DefaultProduceTimeout
	}
	if a.askAgain <= 0 {
		a.askAgain = DefaultAskAgain
	}
	if a.maxWaiting == 0 {
		a.maxWaiting = DefaultMaxWaiting
	}
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	if a.producer, err = kafka.NewEffectsProducer(o.Kafka); err != nil {
		return nil, err
	}
	if a.replies, err = kafka.NewPartitionConsumer(o.Kafka); err != nil {
		a.producer.Close()
		return nil, err
	}
	if err = a.settleIn(ctx); err != nil {
		err = fmt.Errorf("find a place in %s: %w", names.Replies(), err)
	} else {
		err = kafka.MayWrite(ctx, a.producer)
	}
	if err != nil {
		a.producer.Close()
		a.replies.Close()
		return nil, err
	}
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stop = stop
	go a.read(reading)
	return a, nil
}

// Close ends all waits and closes the clients.
func (a *Asker) Close() error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil
	}
	a.closed = true
	a.mu.Unlock()
	a.stop()
	<-a.done
	a.failAll(ErrClosed)
	a.replies.Close()
	a.producer.Close()
	return nil
}

// Ping reports whether a broker answers.
func (a *Asker) Ping(ctx context.Context) error {
	if err := a.producer.Ping(ctx); err != nil {
		return fmt.Errorf("no broker answers: %w", err)
	}
	return nil
}

// Address is the key of the replies to this Asker.
func (a *Asker) Address() string { return string(a.address) }

// Waiting is how many questions wait for a reply.
func (a *Asker) Waiting() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting)
}

// nextID is unique in all deployments: the address is random.
func (a *Asker) nextID() string {
	b := make([]byte, 0, len(a.address)+14)
	b = append(append(b, a.address...), '-')
	return string(strconv.AppendUint(b, a.number.Add(1), 36))
}
