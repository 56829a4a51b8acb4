package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/runtime"
)

// follower keeps the newest record of each key of authority and readiness.
// There is one key per partition, so it is small.
type follower struct {
	cl         *kgo.Client
	partitions int32
	authority  string
	logger     *slog.Logger
	stop       context.CancelFunc
	done       chan struct{}

	mu        sync.Mutex
	owners    map[int32]owner
	readiness map[string]shown
	changed   chan struct{} // closed when something was read
}

// shown is a record of the readiness topic.
type shown struct {
	value json.RawMessage
	at    time.Time // when it was published
}

// owner is who owns a partition, as a workflow shows it.
type owner struct {
	Instance    string `json:"instance"`
	Epoch       uint64 `json:"epoch"`
	LeasedUntil string `json:"leased_until"`
}

func openFollower(ctx context.Context, cfg kafka.Config, partitions int32, logger *slog.Logger) (*follower, error) {
	names, err := cfg.Names()
	if err != nil {
		return nil, err
	}
	cl, err := kafka.NewNewestTail(ctx, cfg, names.Authority(), names.Readiness())
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	f := &follower{
		cl: cl, partitions: partitions, authority: names.Authority(), logger: logger, stop: stop, done: make(chan struct{}),
		owners: map[int32]owner{}, readiness: map[string]shown{}, changed: make(chan struct{}),
	}
	go f.run(ctx)
	return f, nil
}

func (f *follower) close() {
	f.stop()
	<-f.done
	f.cl.Close()
}

func (f *follower) run(ctx context.Context) {
	defer close(f.done)
	reading := kafka.Reading{What: "authority and readiness", Logger: f.logger}
	for ctx.Err() == nil {
		fetches := f.cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		if _, failed := reading.Failed(f.cl, fetches); failed {
			pause(ctx, time.Second)
		}
		f.mu.Lock()
		fetches.EachRecord(f.take)
		close(f.changed)
		f.changed = make(chan struct{})
		f.mu.Unlock()
	}
}

// pause keeps an error that comes back at once from becoming a busy loop.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (f *follower) take(r *kgo.Record) {
	if r.Topic != f.authority {
		f.readiness[string(r.Key)] = shown{r.Value, r.Timestamp}
		return
	}
	p, err := strconv.ParseInt(string(r.Key), 10, 32)
	var rec runtime.Record
	if err == nil {
		err = json.Unmarshal(r.Value, &rec)
	}
	if err != nil {
		f.logger.Warn("an authority record is passed over", "key", string(r.Key), "error", err)
		return
	}
	a := rec.Authority
	if a.Owner == nil || a.Epoch == nil || a.LeasedUntil == nil {
		delete(f.owners, int32(p))
		return
	}
	f.owners[int32(p)] = owner{*a.Owner, *a.Epoch, *a.LeasedUntil}
}

// owner is the owner of a partition; nil when nobody is known to own it.
func (f *follower) owner(partition int32) *owner {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o, ok := f.owners[partition]; ok {
		return &o
	}
	return nil
}

// next is closed when something is read from now on.
func (f *follower) next() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// shown is the readiness record of a key; false when there is none.
func (f *follower) shown(key string) (shown, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.readiness[key]
	return s, ok
}

// withOwner adds who owns the partition to a workflow's summary. Nobody is known
// to own what says no partition.
func (g *Gateway) withOwner(workflow json.RawMessage) (json.RawMessage, error) {
	var head struct {
		Partition int32 `json:"partition"`
	}
	var known *owner
	if json.Unmarshal(workflow, &head) == nil {
		known = g.follow.owner(head.Partition)
	}
	return splice(workflow, "owner", known)
}
