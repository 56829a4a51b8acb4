package readinessd

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/services/readiness"
)

// board holds what is known of each partition and what was derived from it.
type board struct {
	limits readiness.Limits

	mu        sync.Mutex
	published []readiness.Published // by partition
	unread    map[int32][]readiness.Unread
	shown     map[string][]byte // by key of the readiness topic
	aggregate runtime.Aggregate
	derived   time.Time
	said      time.Time // when the aggregate was published last
}

func newBoard(partitions int32, l readiness.Limits) *board {
	return &board{limits: l, published: make([]readiness.Published, partitions), shown: map[string][]byte{}}
}

// take keeps the newest record of a partition. One that cannot be read is kept
// as such: it is no lease.
func (b *board) take(key, value []byte) error {
	p, err := strconv.ParseInt(string(key), 10, 32)
	if err != nil || p < 0 || int(p) >= len(b.published) {
		return fmt.Errorf("%q is no partition", key)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var rec runtime.Record
	switch err := json.Unmarshal(value, &rec); {
	case len(value) == 0:
		b.published[p] = readiness.Published{}
	case err != nil:
		b.published[p] = readiness.Published{Malformed: err.Error()}
	case rec.SchemaVersion != runtime.SchemaVersion:
		b.published[p] = readiness.Published{Malformed: fmt.Sprintf("schema_version %d is unknown", rec.SchemaVersion)}
	default:
		b.published[p] = readiness.Published{Record: &rec}
	}
	return nil
}

// seen counts the partitions of which there is a record.
func (b *board) seen() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, p := range b.published {
		if p.Record != nil || p.Malformed != "" {
			n++
		}
	}
	return n
}

// change is a record of the readiness topic.
type change struct {
	key   string
	value []byte
}

// derive makes the snapshots of now and returns those that changed; the
// aggregate comes last, and now and then without a change.
func (b *board) derive(now time.Time) ([]change, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.derived = now
	for p := range b.published {
		b.published[p].Unread = b.unread[int32(p)]
	}
	b.aggregate = readiness.Aggregate(b.published, now, b.limits)
	var changes []change
	for _, p := range b.aggregate.Partitions {
		if err := b.show(&changes, strconv.Itoa(int(p.Partition)), p.Snapshot); err != nil {
			return nil, err
		}
	}
	if now.Sub(b.said) >= runtime.AggregateEvery {
		delete(b.shown, runtime.AggregateKey)
	}
	before := len(changes)
	err := b.show(&changes, runtime.AggregateKey, b.aggregate)
	if len(changes) > before {
		b.said = now
	}
	return changes, err
}

func (b *board) show(changes *[]change, key string, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode readiness %s: %w", key, err)
	}
	if string(b.shown[key]) != string(value) {
		b.shown[key] = value
		*changes = append(*changes, change{key, value})
	}
	return nil
}

// forget makes the next derive publish key again.
func (b *board) forget(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.shown, key)
}

// current is the aggregate as it was derived last.
func (b *board) current() runtime.Aggregate {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.aggregate
}

// alive reports whether readiness is still being derived.
func (b *board) alive(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if still := time.Since(b.derived); !b.derived.IsZero() && still > 10*time.Second {
		return fmt.Errorf("nothing was derived for %s", still.Round(time.Second))
	}
	return nil
}
