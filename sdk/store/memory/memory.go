// Package memory keeps logs in memory, for tests and for programs that need them no longer than they run.
package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/heddle-run/heddle/sdk/store"
)

// page bounds the bytes that one Load returns, but for an entry that is larger.
const page = 4 << 20

type memory struct {
	mu     sync.RWMutex
	ids    []string // sorted
	logs   map[string]*log
	closed bool
}

type log struct {
	entries  [][]byte
	epoch    uint64
	snapshot *store.Snapshot
}

// New returns an empty store. What is in it is gone when it is closed, and with the process.
func New() store.Opened { return &memory{logs: map[string]*log{}} }

// Open is the store.Opener of this package; there is nothing to say in an address.
func Open(context.Context, string) (store.Opened, error) { return New(), nil }

func (m *memory) Append(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error {
	if err := store.CheckAppend(id, at, epoch, entries); err != nil {
		return err
	}
	return m.write(ctx, id, epoch, func(l *log) error {
		if end := uint64(len(l.entries)); end != at {
			return &store.Conflict{ID: id, Expected: at, Actual: end}
		}
		for _, e := range entries {
			l.entries = append(l.entries, copied(e))
		}
		return nil
	})
}

func (m *memory) SaveSnapshot(ctx context.Context, id string, epoch uint64, s store.Snapshot) error {
	if err := store.CheckSnapshot(id, epoch, s); err != nil {
		return err
	}
	return m.write(ctx, id, epoch, func(l *log) error {
		if end := uint64(len(l.entries)); s.At > end {
			return &store.Conflict{ID: id, Expected: s.At, Actual: end}
		}
		if l.snapshot != nil && s.At < l.snapshot.At {
			return &store.Conflict{ID: id, Expected: s.At, Actual: l.snapshot.At}
		}
		s = own(s)
		l.snapshot = &s
		return nil
	})
}

// write changes a log under its fence. What change refuses leaves no trace of the ID.
func (m *memory) write(ctx context.Context, id string, epoch uint64, change func(*log) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fit(ctx); err != nil {
		return err
	}
	l, there := m.logs[id]
	if !there {
		l = &log{}
	}
	if epoch < l.epoch {
		return &store.Fenced{ID: id, Epoch: epoch, Current: l.epoch}
	}
	if err := change(l); err != nil {
		return err
	}
	l.epoch = epoch
	if !there {
		m.logs[id] = l
		i, _ := slices.BinarySearch(m.ids, id)
		m.ids = slices.Insert(m.ids, i, id)
	}
	return nil
}

func (m *memory) Delete(ctx context.Context, id string, epoch uint64) error {
	if err := store.CheckDelete(id, epoch); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fit(ctx); err != nil {
		return err
	}
	l, there := m.logs[id]
	if !there {
		return nil
	}
	if epoch < l.epoch {
		return &store.Fenced{ID: id, Epoch: epoch, Current: l.epoch}
	}
	delete(m.logs, id)
	i, _ := slices.BinarySearch(m.ids, id)
	m.ids = slices.Delete(m.ids, i, i+1)
	return nil
}

func (m *memory) Load(ctx context.Context, id string, from uint64) (store.Log, error) {
	if err := store.CheckLoad(id, from); err != nil {
		return store.Log{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.fit(ctx); err != nil {
		return store.Log{}, err
	}
	part := store.Log{From: from}
	l, there := m.logs[id]
	if !there {
		return part, nil
	}
	part.End, part.Epoch = uint64(len(l.entries)), l.epoch
	for at, size := from, 0; at < part.End && size < page; at++ {
		size += len(l.entries[at])
		part.Entries = append(part.Entries, copied(l.entries[at]))
	}
	return part, nil
}

func (m *memory) LoadSnapshot(ctx context.Context, id string) (store.Snapshot, bool, error) {
	if err := store.CheckID(id); err != nil {
		return store.Snapshot{}, false, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.fit(ctx); err != nil {
		return store.Snapshot{}, false, err
	}
	l, there := m.logs[id]
	if !there || l.snapshot == nil {
		return store.Snapshot{}, false, nil
	}
	return own(*l.snapshot), true, nil
}

func (m *memory) List(ctx context.Context, f store.Filter, cursor string) (store.Page, error) {
	limit, err := store.CheckList(f, cursor)
	if err != nil {
		return store.Page{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.fit(ctx); err != nil {
		return store.Page{}, err
	}
	var p store.Page
	i, _ := slices.BinarySearch(m.ids, max(f.Prefix, cursor))
	for _, id := range m.ids[i:] {
		if !strings.HasPrefix(id, f.Prefix) {
			break
		}
		item := m.logs[id].item(id)
		if id == cursor || !fits(item.Labels, f.Labels) {
			continue
		}
		if len(p.Items) == limit {
			p.Next = p.Items[limit-1].ID
			break
		}
		p.Items = append(p.Items, item)
	}
	return p, nil
}

func (l *log) item(id string) store.Item {
	i := store.Item{ID: id, End: uint64(len(l.entries)), Epoch: l.epoch}
	if l.snapshot != nil {
		i.Snapshot, i.SnapshotAt, i.Labels = true, l.snapshot.At, maps.Clone(l.snapshot.Labels)
	}
	return i
}

func fits(labels, wanted map[string]string) bool {
	for name, value := range wanted {
		if have, ok := labels[name]; !ok || have != value {
			return false
		}
	}
	return true
}

func (m *memory) Exists(ctx context.Context, id string) (bool, error) {
	if err := store.CheckID(id); err != nil {
		return false, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.fit(ctx); err != nil {
		return false, err
	}
	_, there := m.logs[id]
	return there, nil
}

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.ids, m.logs = true, nil, nil
	return nil
}

// fit says why a call is not answered.
func (m *memory) fit(ctx context.Context) error {
	if m.closed {
		return store.ErrClosed
	}
	return ctx.Err()
}

// copied is a copy that is not nil.
func copied(b []byte) []byte { return append([]byte{}, b...) }

// own is a copy that shares nothing; no labels are nil.
func own(s store.Snapshot) store.Snapshot {
	s.Data = bytes.Clone(s.Data)
	s.Labels = maps.Clone(s.Labels)
	if len(s.Labels) == 0 {
		s.Labels = nil
	}
	return s
}
