package view

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// follow takes what the status topic has, for ever.
func (v *View) follow(ctx context.Context) {
	defer close(v.done)
	for ctx.Err() == nil {
		v.turned.Store(time.Now().UnixMilli())
		if v.health == nil || v.health.Err() != nil {
			v.remake(ctx)
			continue
		}
		if v.stranger {
			v.adopt(ctx)
			continue
		}
		fetches, idle := v.fetch(ctx)
		if ctx.Err() != nil {
			return
		}
		for _, e := range fetches.Errors() {
			if !isPollEnd(e.Err) {
				v.recover(ctx, e.Partition, e.Err)
			}
		}
		v.keep(ctx, fetches)
		v.settled(idle)
		if fetches.NumRecords() >= busy {
			pause(ctx, gather)
		}
	}
}

// fetch polls until there is something, for a while, or until the store breaks.
// idle is not nil when the while is over and there was nothing.
func (v *View) fetch(ctx context.Context) (_ kgo.Fetches, idle error) {
	polling, cancel := context.WithTimeout(ctx, stuck/4)
	defer cancel()
	gone := v.health.Gone()
	go func() {
		select {
		case <-gone:
			cancel()
		case <-polling.Done():
		}
	}()
	fetches := v.cl.PollFetches(polling)
	if errors.Is(polling.Err(), context.DeadlineExceeded) && fetches.NumRecords() == 0 {
		idle = polling.Err()
	}
	return fetches, idle
}

// isPollEnd reports whether a poll has no records because it was ended.
func isPollEnd(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// keep takes a poll, however often that fails: the next one would let its
// records be forgotten. Meanwhile the loop does not turn, so a store that stays
// unreadable shows in liveness. One that is of no use any more is opened anew
// and read on from what it holds.
func (v *View) keep(ctx context.Context, fetches kgo.Fetches) {
	for err := v.take(fetches); err != nil && ctx.Err() == nil && v.health.Err() == nil; err = v.take(fetches) {
		v.logger.Error("writing the view", "error", err)
		pause(ctx, time.Second)
	}
}

const (
	// busy is how many records of one poll mean that more are coming.
	busy = 64

	// gather is how long they are let come together: most workflows change
	// several times in it, and only the last status is written.
	gather = 250 * time.Millisecond
)

// recover goes on after an error that kgo does not fix by itself. A log that is
// not what it was is read again from its start: rows only move forward.
func (v *View) recover(ctx context.Context, partition int32, err error) {
	switch {
	case v.stranger: // said of another partition
		return
	case kafka.IsRemade(err):
		v.logger.Warn("the status topic is not the one that the list's view is made from", "error", err)
		v.stranger = true
		return
	}
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

// adopt goes on with the topic that has the name now, once there is one: kgo takes
// none by itself. Until the view is made from it there are no lists.
func (v *View) adopt(ctx context.Context) {
	v.cl.PurgeTopicsFromConsuming(v.topic)
	if err := v.begin(ctx); err != nil {
		v.logger.Warn("the status topic cannot be read; it is tried again", "error", err)
		pause(ctx, v.patience())
		return
	}
	v.stranger = false
}

// take writes one poll: what its records leave of each workflow, and the
// offsets.
func (v *View) take(fetches kgo.Fetches) error {
	next := map[int32]int64{}
	records := v.poll[:0]
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if n := len(p.Records); n > 0 {
			next[p.Partition] = p.Records[n-1].Offset + 1
			records = append(records, p.Records...)
		}
	})
	v.poll = records
	defer clear(records) // they need not be kept until the next poll
	if len(records) == 0 {
		return nil
	}
	if err := v.write(records, next); err != nil {
		v.recent = recent{} // it may know what was not written
		return err
	}
	v.rows.Add(int64(len(records)))
	for p, offset := range next {
		v.next[p] = offset
	}
	return nil
}

// write does it in one batch, in the order of the rows: Pebble reads and writes
// neighbours faster.
func (v *View) write(records []*kgo.Record, next map[int32]int64) (err error) {
	slices.SortFunc(records, func(a, b *kgo.Record) int {
		if c := bytes.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return cmp.Compare(a.Offset, b.Offset)
	})
	c := v.change()
	defer func() { err = errors.Join(err, c.close()) }()
	for len(records) > 0 {
		n := 1
		for n < len(records) && bytes.Equal(records[n].Key, records[0].Key) {
			n++
		}
		if err := c.put(records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	for p, offset := range next {
		key := binary.BigEndian.AppendUint32(append([]byte(nil), offsetKey...), uint32(p))
		if err := c.batch.Set(key, binary.BigEndian.AppendUint64(nil, uint64(offset)), nil); err != nil {
			return err
		}
	}
	return c.batch.Commit(pebble.NoSync)
}
