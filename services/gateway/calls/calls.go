// Package calls has the requests of a gateway's clients to attempts at runners: it brings their messages to the executors that have the
// runners' sockets and back, over topic tunnels (decision 0104). What is lost on the way is sent again; package tunnel of internal decides what.
package calls

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/tunnel"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

// Options of Calls.
type Options struct {
	Kafka  kafka.Config
	Most   int // calls at a time
	Times  tunnel.Times
	Logger *slog.Logger // nil: silent
}

var (
	// ErrBusy is a call beyond Options.Most.
	ErrBusy = errors.New("too many tunnels are open")
	// ErrClosed is a call of Calls that are closed.
	ErrClosed = errors.New("the gateway stops")
	// ErrUnavailable is a message that Kafka did not take in time.
	ErrUnavailable = errors.New("kafka did not take a message in time")
	// ErrLost is the end of calls whose messages may have been skipped.
	ErrLost = errors.New("the topic of tunnels lost records; messages may have been among them")
)

// Find says where an attempt is. Its error is one of tunnel's, or says that nobody knows just now.
type Find func(ctx context.Context) (tunnel.Place, error)

// Calls are safe for concurrent use. Close them.
type Calls struct {
	options Options
	log     *slog.Logger
	names   topics.Names
	address string // of this gateway, which ids of requests begin with

	producer *kgo.Client
	tail     *kgo.Client
	living   context.Context
	stop     context.CancelFunc
	loops    sync.WaitGroup

	mu     sync.Mutex
	open   map[string]*Call
	closed bool
}

// Open connects to Kafka.
func Open(ctx context.Context, o Options) (*Calls, error) {
	names, err := o.Kafka.Names()
	if err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Calls{options: o, log: o.Logger, names: names, address: rand.Text(), open: map[string]*Call{}}
	if c.producer, err = kafka.NewOutboxProducer(o.Kafka); err != nil {
		return nil, err
	}
	if err := c.follow(ctx); err != nil {
		c.producer.Close()
		return nil, fmt.Errorf("tunnels: %w", err)
	}
	c.living, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.loops.Go(c.read)
	c.loops.Go(c.keep)
	return c, nil
}

// follow opens the reader of the partition of the address, at its end.
func (c *Calls) follow(ctx context.Context) error {
	topic := c.names.Tunnels()
	ends, err := kadm.NewClient(c.producer).ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("asking for the ends of %s: %w", topic, err)
	}
	p := kafka.PartitionFor([]byte(c.address), int32(len(ends[topic])))
	end, ok := ends.Lookup(topic, p)
	if !ok {
		return fmt.Errorf("%s has no partition %d", topic, p)
	}
	c.tail, err = kafka.NewTailFrom(c.options.Kafka, topic, map[int32]int64{p: end.Offset})
	return err
}

// End ends all calls, and takes no more.
func (c *Calls) End() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.each(func(one *Call) { one.abort(ErrClosed) })
}

// Close ends all calls and closes the clients.
func (c *Calls) Close() {
	c.End()
	c.stop()
	c.loops.Wait()
	flushing, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.producer.Flush(flushing) // whoever does not hear that calls are over finds out
	c.tail.Close()
	c.producer.Close()
}

// Number is how many calls are open.
func (c *Calls) Number() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

func (c *Calls) each(f func(*Call)) {
	c.mu.Lock()
	all := make([]*Call, 0, len(c.open))
	for _, one := range c.open { // order: each is looked at by itself
		all = append(all, one)
	}
	c.mu.Unlock()
	for _, one := range all {
		f(one)
	}
}

// errorPause follows a poll that has failed, and look is between two looks at the times of all calls.
const (
	errorPause = 250 * time.Millisecond
	look       = 50 * time.Millisecond
)

// read hands what runners say to the calls that it is for.
func (c *Calls) read() {
	reading := kafka.Reading{What: "messages of runners", Logger: c.log}
	for {
		fetches := c.tail.PollFetches(c.living)
		if c.living.Err() != nil {
			return
		}
		if _, failed := reading.Failed(c.tail, fetches); failed {
			lost := false
			fetches.EachError(func(_ string, _ int32, err error) { lost = lost || kafka.IsRemade(err) || kafka.IsDataLoss(err) })
			if lost {
				c.each(func(one *Call) { one.abort(ErrLost) })
			}
			timer := time.NewTimer(errorPause)
			select {
			case <-timer.C:
			case <-c.living.Done():
				timer.Stop()
			}
		}
		fetches.EachRecord(c.take)
	}
}

// take takes a record, which may be for somebody else with the same partition.
func (c *Calls) take(r *kgo.Record) {
	if string(r.Key) != c.address {
		return
	}
	err := kafka.CheckFormat(r, events.TunnelVersion)
	var m *events.TunnelRecord
	if err == nil {
		m, err = events.DecodeTunnelRecord(r.Value)
	}
	if err == nil && !m.Up {
		return
	}
	var pool string
	if err == nil {
		pool, err = events.ParsePoolID(m.Pool)
	}
	var t *frames.Tunnel
	switch {
	case err != nil:
	case m.Missed != "":
		t = &frames.Tunnel{RequestID: m.Missed}
	default:
		t, err = frames.DecodeTunnel(m.Message)
	}
	if err != nil {
		c.log.Warn("a message of a runner cannot be read", "partition", r.Partition, "offset", r.Offset, "error", err)
		return
	}
	from := tunnel.Place{Pool: pool, Runner: m.Runner, Executor: m.Executor, Number: m.Number}
	c.mu.Lock()
	one := c.open[t.RequestID]
	c.mu.Unlock()
	switch {
	case one != nil && m.Missed != "":
		one.turn(func(now time.Time) { one.core.Missed(now) })
	case one != nil:
		one.turn(func(now time.Time) { one.core.Received(now, from, t) })
	case m.Missed == "":
		c.unknown(from, t)
	}
}

// unknown tells a runner that a request is over that it still has.
func (c *Calls) unknown(from tunnel.Place, t *frames.Tunnel) {
	if _, is := t.Inner.(*frames.ResponseAbort); !is {
		over := &frames.Tunnel{RequestID: t.RequestID, Inner: &frames.RequestAbort{Reason: "the request is over"}}
		c.send(from, over, func(error) {})
	}
}

// send sends a message to where a runner has its socket.
func (c *Calls) send(to tunnel.Place, t *frames.Tunnel, done func(error)) {
	m := &events.TunnelRecord{
		Connection: events.Connection{Executor: to.Executor, Number: to.Number}, Pool: events.PoolOf(to.Pool), Runner: to.Runner, Message: wire.Marshal(t),
	}
	r := kafka.Keyed(c.names.Tunnels(), []byte(to.Executor), wire.Marshal(m), kafka.TunnelFormat...)
	c.producer.Produce(context.Background(), r, func(_ *kgo.Record, err error) { done(err) })
}

// keep does what is due of all calls.
func (c *Calls) keep() {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-c.living.Done():
			return
		case <-tick.C:
			c.each(func(one *Call) {
				if one.due() {
					one.turn(func(now time.Time) { one.core.Wake(now) })
				}
			})
		}
	}
}
