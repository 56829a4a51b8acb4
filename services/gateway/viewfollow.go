package gateway

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// follow takes what the status topic has, for ever.
func (v *view) follow(ctx context.Context) {
	defer close(v.done)
	for ctx.Err() == nil {
		v.turned.Store(time.Now().UnixMilli())
		polling, cancel := context.WithTimeout(ctx, viewStuck/4)
		fetches := v.cl.PollFetches(polling)
		cancel()
		if ctx.Err() != nil {
			return
		}
		for _, e := range fetches.Errors() {
			if !errors.Is(e.Err, context.DeadlineExceeded) {
				v.mend(ctx, e.Partition, e.Err)
			}
		}
		if err := v.take(fetches); err != nil {
			v.logger.Error("writing the view", "error", err)
			pause(ctx, time.Second)
		}
		if fetches.NumRecords() >= busy {
			pause(ctx, gather)
		}
	}
}

const (
	// busy is how many records of one poll mean that more are coming.
	busy = 64

	// gather is how long they are let come together: most workflows change
	// several times in it, and only the newest status is written.
	gather = 100 * time.Millisecond
)

// mend goes on after an error that kgo does not mend by itself. A log that is
// not what it was is read again from its start: rows only move forward.
func (v *view) mend(ctx context.Context, partition int32, err error) {
	v.logger.Warn("reading status", "partition", partition, "error", err)
	if !kafka.IsDataLoss(err) {
		pause(ctx, time.Second)
		return
	}
	v.next[partition] = 0
	v.cl.RemoveConsumePartitions(map[string][]int32{v.topic: {partition}})
	v.cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{
		v.topic: {partition: kgo.NewOffset().AtStart()},
	})
}

// take writes one poll: the newest record of each workflow, and the offsets.
func (v *view) take(fetches kgo.Fetches) error {
	newest := map[string]*kgo.Record{}
	next := map[int32]int64{}
	fetches.EachRecord(func(r *kgo.Record) {
		newest[string(r.Key)] = r
		next[r.Partition] = r.Offset + 1
		v.rows.Add(1)
	})
	if len(newest) == 0 {
		return nil
	}
	b := v.db.NewBatch()
	for id, r := range newest {
		if err := v.put(b, id, r.Value); err != nil {
			v.logger.Warn("a status record is passed over", "workflow", id, "error", err)
		}
	}
	for p, offset := range next {
		key := binary.BigEndian.AppendUint32(append([]byte(nil), offsetKey...), uint32(p))
		if err := b.Set(key, binary.BigEndian.AppendUint64(nil, uint64(offset)), nil); err != nil {
			return err
		}
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return err
	}
	for p, offset := range next {
		v.next[p] = offset
	}
	return nil
}

// put replaces a workflow's row and its index entries; an empty status removes
// them. A status that is older than the row changes nothing: records can come
// twice.
func (v *view) put(b *pebble.Batch, id string, status []byte) error {
	old, err := v.get(rowKey(id))
	if err != nil {
		return err
	}
	var was, is row
	if old != nil {
		if was, err = parseRow(old); err != nil {
			return fmt.Errorf("the view's own row: %w", err)
		}
	}
	if len(status) > 0 {
		if is, err = parseRow(status); err != nil {
			return err
		}
		if old != nil && older(is.Position, was.Position) {
			return nil
		}
	}
	return v.move(b, id, old != nil, was, status, is)
}

func (v *view) move(b *pebble.Batch, id string, had bool, was row, status []byte, is row) error {
	if had {
		for _, key := range was.indexes(id) {
			if err := b.Delete(key, nil); err != nil {
				return err
			}
		}
	}
	if len(status) == 0 {
		return b.Delete(rowKey(id), nil)
	}
	for _, key := range is.indexes(id) {
		if err := b.Set(key, nil, nil); err != nil {
			return err
		}
	}
	return b.Set(rowKey(id), status, nil)
}

// older compares printed positions; one that cannot be read is not older.
func older(a, b string) bool {
	pa, err1 := events.ParsePosition(a)
	pb, err2 := events.ParsePosition(b)
	return err1 == nil && err2 == nil && pa.Before(pb)
}

func rowKey(id string) []byte { return append([]byte("w/"), id...) }

// indexes are the keys that lead to a workflow: each a prefix and the place.
func (r row) indexes(id string) [][]byte {
	at := place(r.created, id)
	return [][]byte{
		append(indexPrefix("c", ""), at...),
		append(indexPrefix("s", r.Status), at...),
		append(indexPrefix("d", r.Definition.Name), at...),
	}
}

func indexPrefix(kind, value string) []byte {
	return append([]byte(kind+"/"+value), 0)
}

// createdSize is the length of the time in a place.
const createdSize = 8

// place orders workflows by creation, newest first, then by id.
func place(created time.Time, id string) []byte {
	b := binary.BigEndian.AppendUint64(nil, ^uint64(created.UnixMilli()))
	return append(b, id...)
}
