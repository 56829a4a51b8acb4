package keeping

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// Config of a Keeper. Zero values mean the defaults.
type Config struct {
	Kafka  kafka.Config
	Logger *slog.Logger // nil: silent

	Timeout time.Duration // of a request, less than the 30 s that runners wait; 20 s
	Again   time.Duration // without an answer behind which it is asked again; 5 s

	Requests int // that wait for their answers at a time; 1,000
	Socket   int // of one socket; 100
	Bytes    int // of what they put; 64 MiB
}

func (c *Config) defaults() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for _, f := range []struct {
		field *time.Duration
		usual time.Duration
	}{{&c.Timeout, 20 * time.Second}, {&c.Again, 5 * time.Second}} {
		if *f.field == 0 {
			*f.field = f.usual
		}
	}
	for _, f := range []struct {
		field *int
		usual int
	}{{&c.Requests, 1000}, {&c.Socket, 100}, {&c.Bytes, 64 << 20}} {
		if *f.field == 0 {
			*f.field = f.usual
		}
	}
}

// Keeper answers requests for keys. It connects to Kafka with the first one. Close it.
type Keeper struct {
	config Config
	living context.Context // until it is closed
	stop   context.CancelFunc
	asking sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	waiting int
	bytes   int
	sockets map[events.Connection]int // requests that wait

	opening  chan struct{}   // has room for one who connects, or looks whether somebody has
	requests *request.Client // nil: nothing was asked yet
}

var _ runners.KV = (*Keeper)(nil)

// New makes a Keeper.
func New(c Config) *Keeper {
	c.defaults()
	k := &Keeper{config: c, sockets: map[events.Connection]int{}, opening: make(chan struct{}, 1)}
	k.living, k.stop = context.WithCancel(context.Background())
	return k
}

// Close ends all requests: what becomes of them is unknown.
func (k *Keeper) Close() error {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.stop()
	k.asking.Wait()
	if k.requests == nil {
		return nil
	}
	return k.requests.Close()
}

// Request implements runners.KV.
func (k *Keeper) Request(from runners.Socket, q *frames.ToServerKvRequest, answer func(*frames.ToClientKvResponse)) {
	refuse := func(code, message string) {
		answer(&frames.ToClientKvResponse{RequestID: q.RequestID, Error: &frames.KvError{Code: code, Message: message}})
	}
	workflow, ok := workflowOf(q.Token)
	if !ok {
		refuse(frames.KvUnknownAttempt, "the token is none of an attempt")
		return
	}
	if changesNothing(q.Inner) {
		answer(&frames.ToClientKvResponse{RequestID: q.RequestID})
		return
	}
	size := sizeOf(q.Inner)
	if size > events.MaxKeptBytes {
		refuse(frames.KvFull, fmt.Sprintf("the request would keep %d bytes, the limit is %d", size, events.MaxKeptBytes))
		return
	}
	if !k.admit(from.Connection, size) {
		refuse(frames.KvUnavailable, "too many requests for keys wait for their answers; this one was not done")
		return
	}
	go func() {
		defer k.asking.Done()
		r := k.ask(workflow, q)
		k.release(from.Connection, size)
		answer(r)
	}()
}

// workflowOf is whose attempt a token names. Its owner looks at the seal.
func workflowOf(token string) (string, bool) {
	sealed, err := events.ParseTokenText(token)
	if err != nil {
		return "", false
	}
	t, err := events.PeekToken(sealed)
	return t.Workflow, err == nil
}

// changesNothing reports whether a request names nothing to change, which is no command.
func changesNothing(q frames.KvRequest) bool {
	switch q := q.(type) {
	case *frames.KvPut:
		return len(q.Entries) == 0
	case *frames.KvDelete:
		return len(q.Keys) == 0
	}
	return false
}

// sizeOf is how many bytes a request wants to be kept.
func sizeOf(q frames.KvRequest) (n int) {
	if put, is := q.(*frames.KvPut); is {
		for i := range put.Entries {
			n += len(put.Entries[i].Key) + len(put.Entries[i].Value)
		}
	}
	return n
}

// admit takes a request if there is room for it.
func (k *Keeper) admit(of events.Connection, size int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.waiting >= k.config.Requests || k.sockets[of] >= k.config.Socket || k.bytes+size > k.config.Bytes {
		return false
	}
	k.asking.Add(1)
	k.waiting++
	k.bytes += size
	k.sockets[of]++
	return true
}

func (k *Keeper) release(of events.Connection, size int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting--
	k.bytes -= size
	if k.sockets[of]--; k.sockets[of] == 0 {
		delete(k.sockets, of)
	}
}

// client connects to Kafka if that was not done yet.
func (k *Keeper) client(ctx context.Context) (*request.Client, error) {
	select { // it may take as long as a request may
	case k.opening <- struct{}{}:
		defer func() { <-k.opening }()
	case <-ctx.Done():
		return nil, fmt.Errorf("connecting to Kafka: %w", context.Cause(ctx))
	}
	if k.requests != nil {
		return k.requests, nil
	}
	cl, err := request.Open(ctx, request.Options{
		Kafka: k.config.Kafka, Source: "executor", MaxWaiting: k.config.Requests, Logger: k.config.Logger,
		ProduceTimeout: k.config.Timeout, ResendAfter: k.config.Again,
	})
	if err != nil {
		k.config.Logger.Warn("requests for keys cannot be passed on", "error", err)
		return nil, fmt.Errorf("connecting to Kafka: %w", err)
	}
	k.requests = cl
	return cl, nil
}

// ask asks the owner of the attempt, and waits for its answer.
func (k *Keeper) ask(workflow string, q *frames.ToServerKvRequest) *frames.ToClientKvResponse {
	ctx, cancel := context.WithTimeout(k.living, k.config.Timeout)
	defer cancel()
	r := &frames.ToClientKvResponse{RequestID: q.RequestID}
	cl, err := k.client(ctx)
	if err != nil {
		r.Error = &frames.KvError{Code: frames.KvUnavailable, Message: "the owner of the keys cannot be asked: " + err.Error()}
		return r
	}
	var reply events.Reply
	if query := queryOf(workflow, q); query != nil {
		reply, err = k.read(ctx, cl, query)
	} else {
		reply, err = k.change(ctx, cl, workflow, q)
	}
	switch {
	case err != nil:
		r.Error = unanswered(err)
	case reply.Refusal != nil:
		r.Error = refused(reply.Refusal)
	default:
		r.Entries, r.Error = entriesOf(reply.Body)
	}
	return r
}

// read asks for keys, again where an answer does not come: an owner that goes takes questions along.
func (k *Keeper) read(ctx context.Context, cl *request.Client, q *events.Query) (events.Reply, error) {
	for {
		some, cancel := context.WithTimeout(ctx, k.config.Again)
		r, err := cl.Query(some, *q)
		late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
		cancel()
		if !late {
			return r, err
		}
	}
}

// change has keys changed. The command is sent again where an answer does not come, and is decided once.
func (k *Keeper) change(ctx context.Context, cl *request.Client, workflow string, q *frames.ToServerKvRequest) (events.Reply, error) {
	body, err := commandOf(q)
	if err != nil {
		return events.Reply{}, err
	}
	call, err := cl.Call(ctx, request.Command{Name: "keep", Workflow: workflow, Body: body}, false)
	if err != nil {
		return events.Reply{}, err
	}
	defer call.Close()
	r, err := call.Decided(ctx)
	r.Body = nil // it is of the workflow
	return r, err
}
