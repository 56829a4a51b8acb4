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

// statusTable holds what is known of each partition and what was derived from it.
type statusTable struct {
	limits readiness.Limits

	mu        sync.Mutex
	published []readiness.Published // by partition
	unread    map[int32][]readiness.Unread
	cluster   []string          // warnings about the cluster
	shown     map[string][]byte // by key of the readiness topic
	aggregate runtime.Aggregate
	derived   time.Time
	said      time.Time // when the aggregate was published last
}

func newStatusTable(partitions int32, l readiness.Limits) *statusTable {
	return &statusTable{limits: l, published: make([]readiness.Published, partitions), shown: map[string][]byte{}}
}

// take keeps the newest record of a partition. One that cannot be read is kept
// as such: it is no lease.
func (t *statusTable) take(key, value []byte) error {
	p, err := strconv.ParseInt(string(key), 10, 32)
	if err != nil || p < 0 || int(p) >= len(t.published) {
		return fmt.Errorf("%q is no partition", key)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var rec runtime.Record
	switch err := json.Unmarshal(value, &rec); {
	case len(value) == 0:
		t.published[p] = readiness.Published{}
	case err != nil:
		t.published[p] = readiness.Published{Malformed: err.Error()}
	case rec.SchemaVersion != runtime.SchemaVersion:
		t.published[p] = readiness.Published{Malformed: fmt.Sprintf("schema_version %d is unknown", rec.SchemaVersion)}
	default:
		t.published[p] = readiness.Published{Record: &rec}
	}
	return nil
}

// setCluster takes the warnings about the cluster.
func (t *statusTable) setCluster(warnings []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cluster = warnings
}

// seen counts the partitions of which there is a record.
func (t *statusTable) seen() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, p := range t.published {
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
func (t *statusTable) derive(now time.Time) ([]change, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.derived = now
	for p := range t.published {
		t.published[p].Unread = t.unread[int32(p)]
	}
	t.aggregate = readiness.Aggregate(t.published, now, t.limits)
	t.aggregate.Warnings = append(t.aggregate.Warnings, t.cluster...)
	var changes []change
	for _, p := range t.aggregate.Partitions {
		if err := t.show(&changes, strconv.Itoa(int(p.Partition)), p.Snapshot); err != nil {
			return nil, err
		}
	}
	if now.Sub(t.said) >= runtime.AggregateEvery {
		delete(t.shown, runtime.AggregateKey)
	}
	before := len(changes)
	err := t.show(&changes, runtime.AggregateKey, t.aggregate)
	if len(changes) > before {
		t.said = now
	}
	return changes, err
}

func (t *statusTable) show(changes *[]change, key string, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode readiness %s: %w", key, err)
	}
	if string(t.shown[key]) != string(value) {
		t.shown[key] = value
		*changes = append(*changes, change{key, value})
	}
	return nil
}

// forget makes the next derive publish key again.
func (t *statusTable) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.shown, key)
}

// current is the aggregate as it was derived last.
func (t *statusTable) current() runtime.Aggregate {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.aggregate
}

// alive reports whether readiness is still being derived.
func (t *statusTable) alive(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if still := time.Since(t.derived); !t.derived.IsZero() && still > 10*time.Second {
		return fmt.Errorf("nothing was derived for %s", still.Round(time.Second))
	}
	return nil
}
