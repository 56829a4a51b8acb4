package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/cockroachdb/pebble/v2"

	"github.com/heddle-run/heddle/sdk/store"
)

func (d *db) Append(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error {
	if err := store.CheckAppend(id, at, epoch, entries); err != nil {
		return err
	}
	return d.write(ctx, id, epoch, func(h *head, b *pebble.Batch) error {
		if h.end != at {
			return &store.Conflict{ID: id, Expected: at, Actual: h.end}
		}
		for i, e := range entries {
			if err := b.Set(keyOfEntry(id, at+uint64(i)), e, nil); err != nil {
				return err
			}
		}
		h.end += uint64(len(entries))
		return nil
	})
}

func (d *db) SaveSnapshot(ctx context.Context, id string, epoch uint64, s store.Snapshot) error {
	if err := store.CheckSnapshot(id, epoch, s); err != nil {
		return err
	}
	return d.write(ctx, id, epoch, func(h *head, b *pebble.Batch) error {
		if s.At > h.end {
			return &store.Conflict{ID: id, Expected: s.At, Actual: h.end}
		}
		if h.snapshot && s.At < h.at {
			return &store.Conflict{ID: id, Expected: s.At, Actual: h.at}
		}
		h.snapshot, h.at, h.labels = true, s.At, maps.Clone(s.Labels)
		return b.Set(keyOf(dataKey, id), s.Data, nil)
	})
}

func (d *db) Delete(ctx context.Context, id string, epoch uint64) error {
	if err := store.CheckDelete(id, epoch); err != nil {
		return err
	}
	if err := d.enter(ctx); err != nil {
		return err
	}
	defer d.leave()
	defer d.lock(id)()
	_, there, err := fence(d.pebble, id, epoch)
	if err != nil || !there {
		return err
	}
	b := d.pebble.NewBatch()
	defer b.Close()
	err = errors.Join(
		b.Delete(keyOf(headKey, id), nil),
		b.Delete(keyOf(dataKey, id), nil),
		b.DeleteRange(keyOfEntry(id, 0), append(keyOf(entryKey, id), 1), nil),
	)
	if err != nil {
		return err
	}
	return d.commit(b)
}

// write changes a log under its lock and fence, in one batch.
func (d *db) write(ctx context.Context, id string, epoch uint64, change func(*head, *pebble.Batch) error) error {
	if err := d.enter(ctx); err != nil {
		return err
	}
	defer d.leave()
	defer d.lock(id)()
	h, _, err := fence(d.pebble, id, epoch)
	if err != nil {
		return err
	}
	b := d.pebble.NewBatch()
	defer b.Close()
	if err := change(&h, b); err != nil {
		return err
	}
	h.epoch = epoch
	if err := b.Set(keyOf(headKey, id), h.encode(), nil); err != nil {
		return err
	}
	return d.commit(b)
}

// commit writes and syncs a batch. Pebble answers nil also where it has called Fatalf.
func (d *db) commit(b *pebble.Batch) error {
	if err := b.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return d.fit()
}

// fence reads the head of a log, zero if there is none, and holds an epoch against it.
func fence(r pebble.Reader, id string, epoch uint64) (h head, there bool, err error) {
	h, there, err = headOf(r, id)
	if err == nil && epoch < h.epoch {
		err = &store.Fenced{ID: id, Epoch: epoch, Current: h.epoch}
	}
	return h, there, err
}

func headOf(r pebble.Reader, id string) (h head, there bool, err error) {
	b, there, err := get(r, keyOf(headKey, id))
	if err != nil || !there {
		return head{}, false, err
	}
	h, err = decodeHead(b)
	return h, true, err
}

// get copies a value.
func get(r pebble.Reader, key []byte) (value []byte, there bool, err error) {
	b, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading: %w", err)
	}
	value = bytes.Clone(b)
	return value, true, ending(closer)
}

func ending(c io.Closer) error {
	if err := c.Close(); err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	return nil
}
