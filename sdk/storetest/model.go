package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/sdk/store"
)

// model does what comes by chance to the store and to a model of it that is a map, and compares each answer.
func model(t *testing.T, p Place) {
	s := p.Open(t)
	t.Cleanup(func() { shut(t, s) })
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		m := &modelled{t: rt, prefix: fmt.Sprintf("model %d/", round), logs: map[string]*modelLog{}}
		for range rapid.IntRange(1, 14).Draw(rt, "operations") {
			if !p.Volatile && rapid.IntRange(0, 60).Draw(rt, "reopen") == 0 {
				shut(t, s)
				s = p.Open(t)
			}
			m.store = s
			m.step()
		}
	})
}

type modelled struct {
	t      *rapid.T
	store  store.Store
	prefix string
	logs   map[string]*modelLog
}

type modelLog struct {
	entries []string
	epoch   uint64
	snap    *store.Snapshot
}

func (m *modelled) step() {
	id := m.prefix + rapid.SampledFrom([]string{"a", "b", "a/1"}).Draw(m.t, "id")
	op := rapid.SampledFrom([]string{"append", "append", "append", "snapshot", "delete", "load", "list"}).Draw(m.t, "operation")
	switch op {
	case "append":
		m.append(id)
	case "snapshot":
		m.snapshot(id)
	case "delete":
		epoch := m.epoch(id)
		if err := m.store.Delete(m.t.Context(), id, epoch); !m.fenced(err, id, epoch) {
			m.done(err)
			delete(m.logs, id)
		}
	case "load":
		m.load(id)
	case "list":
		m.list()
	}
}

// of is a log of the model, empty where it has none.
func (m *modelled) of(id string) modelLog {
	if l := m.logs[id]; l != nil {
		return *l
	}
	return modelLog{}
}

// epoch draws one that is mostly good.
func (m *modelled) epoch(id string) uint64 {
	now := m.of(id).epoch
	if now > 0 && rapid.IntRange(0, 4).Draw(m.t, "stale") == 0 {
		return now - 1
	}
	return now + rapid.SampledFrom([]uint64{0, 0, 1, 3}).Draw(m.t, "later")
}

func (m *modelled) append(id string) {
	l := m.of(id)
	epoch := m.epoch(id)
	end := uint64(len(l.entries))
	at := end
	if rapid.IntRange(0, 4).Draw(m.t, "astray") == 0 {
		at = rapid.Uint64Range(0, end+2).Draw(m.t, "at")
	}
	entries := rapid.SliceOfN(rapid.String(), 0, 4).Draw(m.t, "entries")
	err := m.store.Append(m.t.Context(), id, at, epoch, texts(entries...))
	if m.fenced(err, id, epoch) {
		return
	}
	if at != end {
		wantConflict(m.t, err, store.Conflict{ID: id, Expected: at, Actual: end})
		return
	}
	m.done(err)
	l.entries, l.epoch = slices.Concat(l.entries, entries), epoch
	m.logs[id] = &l
}

func (m *modelled) snapshot(id string) {
	l := m.of(id)
	epoch := m.epoch(id)
	end := uint64(len(l.entries))
	snap := store.Snapshot{
		At:     rapid.Uint64Range(0, end+1).Draw(m.t, "at"),
		Labels: rapid.MapOfN(rapid.SampledFrom([]string{"x", "y"}), rapid.SampledFrom([]string{"1", "2"}), 0, 2).Draw(m.t, "labels"),
		Data:   rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(m.t, "data"),
	}
	err := m.store.SaveSnapshot(m.t.Context(), id, epoch, snap)
	switch {
	case m.fenced(err, id, epoch):
	case snap.At > end:
		wantConflict(m.t, err, store.Conflict{ID: id, Expected: snap.At, Actual: end})
	case l.snap != nil && snap.At < l.snap.At:
		wantConflict(m.t, err, store.Conflict{ID: id, Expected: snap.At, Actual: l.snap.At})
	default:
		m.done(err)
		l.epoch, l.snap = epoch, &snap
		m.logs[id] = &l
	}
}

// fenced says whether the write had to be fenced, and holds that it was.
func (m *modelled) fenced(err error, id string, epoch uint64) bool {
	now := m.of(id).epoch
	if epoch >= now {
		return false
	}
	wantFenced(m.t, err, store.Fenced{ID: id, Epoch: epoch, Current: now})
	return true
}

func (m *modelled) done(err error) {
	if err != nil {
		m.t.Fatalf("a write that nothing speaks against: %v", err)
	}
}

func (m *modelled) load(id string) {
	l := m.of(id)
	wantLog(m.t, m.store, id, l.epoch, l.entries...)
	wantSnapshot(m.t, m.store, id, l.snap)
	wantExists(m.t, m.store, id, m.logs[id] != nil)
}

func (m *modelled) list() {
	f := store.Filter{
		Prefix: m.prefix + rapid.SampledFrom([]string{"", "a", "a/", "c"}).Draw(m.t, "prefix"),
		Labels: rapid.MapOfN(rapid.SampledFrom([]string{"x", "y"}), rapid.SampledFrom([]string{"1", "2"}), 0, 2).Draw(m.t, "wanted"),
		Limit:  rapid.IntRange(0, 2).Draw(m.t, "limit"),
	}
	var want []store.Item
	for _, id := range slices.Sorted(maps.Keys(m.logs)) {
		l := m.logs[id]
		item := store.Item{ID: id, End: uint64(len(l.entries)), Epoch: l.epoch}
		if l.snap != nil {
			item.Snapshot, item.SnapshotAt, item.Labels = true, l.snap.At, l.snap.Labels
		}
		if strings.HasPrefix(id, f.Prefix) && m.has(item.Labels, f.Labels) {
			want = append(want, item)
		}
	}
	wantItems(m.t, mustList(m.t, m.store, f), want)
}

func (m *modelled) has(labels, wanted map[string]string) bool {
	for name, value := range wanted {
		if have, ok := labels[name]; !ok || have != value {
			return false
		}
	}
	return true
}
