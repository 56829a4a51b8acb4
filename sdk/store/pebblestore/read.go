package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/heddle-run/heddle/sdk/store"
)

const (
	pageBytes = 4 << 20 // of a Load, but for an entry that is larger
	pageHeads = 10_000  // that one List looks at, so that a page that fits little takes no longer than another
)

func (d *db) Load(ctx context.Context, id string, from uint64) (store.Log, error) {
	if err := store.CheckLoad(id, from); err != nil {
		return store.Log{}, err
	}
	if err := d.enter(ctx); err != nil {
		return store.Log{}, err
	}
	defer d.leave()
	s := d.pebble.NewSnapshot()
	log, err := load(s, id, from)
	return log, errors.Join(err, ending(s))
}

func load(s *pebble.Snapshot, id string, from uint64) (store.Log, error) {
	h, _, err := headOf(s, id)
	if err != nil {
		return store.Log{}, err
	}
	log := store.Log{From: from, End: h.end, Epoch: h.epoch}
	if from >= h.end {
		return log, nil
	}
	it, err := s.NewIter(&pebble.IterOptions{LowerBound: keyOfEntry(id, from), UpperBound: keyOfEntry(id, h.end)})
	if err != nil {
		return store.Log{}, fmt.Errorf("reading: %w", err)
	}
	size, whole := 0, true
	for ok := it.First(); ok && size < pageBytes && whole; ok = it.Next() {
		key := it.Key()
		value, err := it.ValueAndErr()
		if err != nil {
			return store.Log{}, errors.Join(fmt.Errorf("reading: %w", err), it.Close())
		}
		whole = binary.BigEndian.Uint64(key[len(key)-8:]) == from+uint64(len(log.Entries))
		log.Entries = append(log.Entries, append([]byte{}, value...))
		size += len(value)
	}
	if err := ending(it); err != nil {
		return store.Log{}, err
	}
	if !whole || len(log.Entries) == 0 {
		return store.Log{}, fmt.Errorf("the log %q has %d entries, and one behind position %d is missing", id, h.end, from)
	}
	return log, nil
}

func (d *db) LoadSnapshot(ctx context.Context, id string) (snap store.Snapshot, ok bool, err error) {
	if err := store.CheckID(id); err != nil {
		return store.Snapshot{}, false, err
	}
	if err := d.enter(ctx); err != nil {
		return store.Snapshot{}, false, err
	}
	defer d.leave()
	s := d.pebble.NewSnapshot()
	defer func() { err = errors.Join(err, ending(s)) }()
	h, _, err := headOf(s, id)
	if err != nil || !h.snapshot {
		return store.Snapshot{}, false, err
	}
	data, there, err := get(s, keyOf(dataKey, id))
	if err == nil && !there {
		err = fmt.Errorf("the data of the snapshot of %q is missing", id)
	}
	if err != nil {
		return store.Snapshot{}, false, err
	}
	return store.Snapshot{At: h.at, Labels: h.labels, Data: data}, true, nil
}

func (d *db) Exists(ctx context.Context, id string) (bool, error) {
	if err := store.CheckID(id); err != nil {
		return false, err
	}
	if err := d.enter(ctx); err != nil {
		return false, err
	}
	defer d.leave()
	_, there, err := headOf(d.pebble, id)
	return there, err
}

func (d *db) List(ctx context.Context, f store.Filter, cursor string) (store.Page, error) {
	limit, err := store.CheckList(f, cursor)
	if err != nil {
		return store.Page{}, err
	}
	if err := d.enter(ctx); err != nil {
		return store.Page{}, err
	}
	defer d.leave()
	from, to := keyOf(headKey, f.Prefix), []byte{headKey + 1}
	if cursor != "" && cursor >= f.Prefix {
		from = append(keyOf(headKey, cursor), 0) // the first key behind it
	}
	if end := store.PrefixEnd(f.Prefix); end != "" {
		to = keyOf(headKey, end)
	}
	if bytes.Compare(from, to) >= 0 {
		return store.Page{}, nil
	}
	it, err := d.pebble.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return store.Page{}, fmt.Errorf("reading: %w", err)
	}
	p, err := list(it, f.Labels, limit)
	return p, errors.Join(err, ending(it))
}

func list(it *pebble.Iterator, labels map[string]string, limit int) (store.Page, error) {
	var p store.Page
	id := ""
	for ok, n := it.First(), 0; ok; ok, n = it.Next(), n+1 {
		if len(p.Items) == limit || n == pageHeads {
			p.Next = id
			break
		}
		id = string(it.Key()[1:])
		value, err := it.ValueAndErr()
		if err != nil {
			return store.Page{}, fmt.Errorf("reading: %w", err)
		}
		h, err := decodeHead(value)
		if err != nil {
			return store.Page{}, fmt.Errorf("the log %q: %w", id, err)
		}
		if fits(h.labels, labels) {
			p.Items = append(p.Items, store.Item{ID: id, End: h.end, Epoch: h.epoch, Snapshot: h.snapshot, SnapshotAt: h.at, Labels: h.labels})
		}
	}
	return p, nil
}

func fits(labels, wanted map[string]string) bool {
	for name, value := range wanted {
		if have, ok := labels[name]; !ok || have != value {
			return false
		}
	}
	return true
}
