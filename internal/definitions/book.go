package definitions

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// Entry is a registered definition. Canonical must not be changed.
type Entry struct {
	Name       string
	Version    string
	Digest     string
	Canonical  []byte
	Registered time.Time // when it was written last
}

// Book is the topic in memory: read whole by Open, then followed. It is safe
// for concurrent use. Close it.
type Book struct {
	topic  string
	logger *slog.Logger
	cl     *kgo.Client
	stop   context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	entries map[string]Entry    // by digest
	labels  map[string]string   // name or name@version: digest
	byName  map[string][]string // digests, oldest first
	bytes   int
	next    int64         // offset behind the last record read
	moved   chan struct{} // closed and replaced when next moves
}

// Open reads the topic up to its end and follows it. ctx bounds the reading.
func Open(ctx context.Context, cfg kafka.Config) (*Book, error) {
	names, err := cfg.Names()
	if err != nil {
		return nil, err
	}
	cl, err := kafka.NewWholeTail(cfg, names.Definitions())
	if err != nil {
		return nil, err
	}
	b := &Book{
		topic: names.Definitions(), logger: cfg.Logger, cl: cl, done: make(chan struct{}),
		entries: map[string]Entry{}, labels: map[string]string{}, byName: map[string][]string{}, moved: make(chan struct{}),
	}
	if b.logger == nil {
		b.logger = slog.New(slog.DiscardHandler)
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop
	go b.follow(following)
	if err := b.Sync(ctx); err != nil {
		b.Close()
		return nil, fmt.Errorf("read %s: %w", b.topic, err)
	}
	return b, nil
}

// Close stops following.
func (b *Book) Close() {
	b.stop()
	<-b.done
	b.cl.Close()
}

// Sync returns when everything that was in the topic at the call is in the book.
func (b *Book) Sync(ctx context.Context) error {
	ends, err := kadm.NewClient(b.cl).ListCommittedOffsets(ctx, b.topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("ask for the end of %s: %w", b.topic, err)
	}
	end, _ := ends.Lookup(b.topic, 0)
	for {
		b.mu.Lock()
		next, moved := b.next, b.moved
		b.mu.Unlock()
		if next >= end.Offset {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Resolve finds what a name, name@version or digest means.
func (b *Book) Resolve(ref string) (Entry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if digest, ok := b.labels[ref]; ok {
		ref = digest
	}
	e, ok := b.entries[ref]
	return e, ok
}

// Canonical is Resolve for those who need the definition alone.
func (b *Book) Canonical(ref string) ([]byte, bool) {
	e, ok := b.Resolve(ref)
	return e.Canonical, ok
}

// Versions are all definitions of a name, newest registration first.
func (b *Book) Versions(name string) []Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Entry
	for _, digest := range slices.Backward(b.byName[name]) {
		list = append(list, b.entries[digest])
	}
	return list
}

// Names are those that mean a definition, sorted: at most limit of them behind
// after, and whether there are more.
func (b *Book) Names(after string, limit int) (names []string, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for label, digest := range b.labels {
		if _, known := b.entries[digest]; known && label > after && !strings.Contains(label, "@") {
			names = append(names, label)
		}
	}
	slices.Sort(names)
	if len(names) > limit {
		return names[:limit], true
	}
	return names, false
}

// Bytes is the size of all definitions.
func (b *Book) Bytes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}

func (b *Book) follow(ctx context.Context) {
	defer close(b.done)
	reading := kafka.Reading{What: "definitions", Logger: b.logger}
	for ctx.Err() == nil {
		fetches := b.cl.PollFetches(ctx)
		remade, failed := reading.Failed(b.cl, fetches)
		if len(remade) > 0 {
			b.forget()
		}
		if failed {
			pause(ctx)
		}
		if !fetches.Empty() {
			b.take(fetches)
		}
	}
}

// forget empties the book: its topic is another one, which is read from its start.
func (b *Book) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries, b.labels, b.byName = map[string]Entry{}, map[string]string{}, map[string][]string{}
	b.bytes, b.next = 0, 0
}

// pause keeps an error that comes back at once from becoming a busy loop.
func pause(ctx context.Context) {
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (b *Book) take(fetches kgo.Fetches) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fetches.EachRecord(func(r *kgo.Record) {
		if r.Attrs.IsControl() {
			b.next = r.Offset + 1
			return
		}
		if err := b.apply(string(r.Key), r.Value, r.Timestamp); err != nil {
			b.logger.Warn("a record of the definitions topic is passed over", "offset", r.Offset, "error", err)
		}
		b.next = r.Offset + 1
	})
	close(b.moved)
	b.moved = make(chan struct{})
}

func (b *Book) apply(key string, value []byte, at time.Time) error {
	if strings.HasPrefix(key, namePrefix) {
		name, l, err := parseLabel(key, value)
		if err != nil {
			return err
		}
		b.labels[name] = l.Digest
		return nil
	}
	e, err := parseDefinition(key, value)
	if err != nil {
		return err
	}
	e.Registered = at
	if old, ok := b.entries[key]; ok {
		b.bytes -= len(old.Canonical)
		b.byName[old.Name] = slices.DeleteFunc(b.byName[old.Name], func(d string) bool { return d == key })
	}
	b.bytes += len(value)
	b.entries[key] = e
	b.byName[e.Name] = append(b.byName[e.Name], key)
	return nil
}
