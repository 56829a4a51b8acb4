package request

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// locate finds the partition of the address, and waits for the topic if it is not there
// yet.
func (cl *Client) locate(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, topicWait)
	defer stop()
	var missing error
	for {
		err := cl.seekEnd(ctx)
		switch {
		case kafka.IsMissing(err):
			missing = err
		case err != nil && ctx.Err() != nil && missing != nil:
			return missing
		default:
			return err
		}
		pause(ctx, topicPause)
	}
}

// seekEnd puts the reader behind the last record of the address's partition.
func (cl *Client) seekEnd(ctx context.Context) error {
	topic := cl.names.Replies()
	ends, err := kadm.NewClient(cl.replies).ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return err
	}
	cl.partition = kafka.PartitionFor(cl.address, int32(len(ends[topic])))
	end, ok := ends.Lookup(topic, cl.partition)
	if !ok {
		return fmt.Errorf("partition %d is not there", cl.partition)
	}
	cl.replies.RemoveConsumePartitions(map[string][]int32{topic: {cl.partition}})
	cl.replies.AddConsumePartitions(map[string]map[int32]kgo.Offset{
		topic: {cl.partition: kgo.NewOffset().At(end.Offset).WithEpoch(end.LeaderEpoch)},
	})
	return nil
}

// read hands replies to those who wait, until ctx ends.
func (cl *Client) read(ctx context.Context) {
	defer close(cl.done)
	for ctx.Err() == nil {
		fetches := cl.replies.PollFetches(ctx)
		fetches.EachRecord(cl.deliver)
		if fetches.NumRecords() > 0 {
			cl.said = ""
		}
		for _, f := range fetches.Errors() {
			if ctx.Err() != nil {
				return
			}
			cl.recover(ctx, f.Err)
		}
	}
}

// recover goes on after a fetch error that kgo does not fix by itself.
func (cl *Client) recover(ctx context.Context, err error) {
	remade := kafka.IsRemade(err)
	if !remade && !kafka.IsDataLoss(err) {
		cl.trouble(err)
		pause(ctx, time.Second)
		return
	}
	cl.trouble(err)
	if remade { // kgo takes no other topic of this name before that
		cl.replies.PurgeTopicsFromConsuming(cl.names.Replies())
	}
	cl.failAll(ErrRepliesLost)
	for ctx.Err() == nil {
		err := cl.seekEnd(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			cl.trouble(err)
		}
		pause(ctx, time.Second)
	}
}

// trouble says once what keeps replies from being read.
func (cl *Client) trouble(err error) {
	if cl.said != err.Error() {
		cl.said = err.Error()
		cl.logger.Warn("replies cannot be read; it is tried again", "error", err)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (cl *Client) deliver(r *kgo.Record) {
	if !bytes.Equal(r.Key, cl.address) {
		return // another client's, in the same partition
	}
	id, ok := replyID(r.Value)
	if !ok {
		cl.logger.Warn("a reply without an id", "offset", r.Offset)
		return
	}
	cl.mu.Lock()
	c := cl.waiting[string(id)]
	cl.mu.Unlock()
	if c == nil {
		return // nobody waits for it (any more)
	}
	select {
	case c.raw <- r.Value:
	default: // a reply that was sent twice
	}
}

var idFirst = []byte(`{"id":"`)

// replyID finds the id without decoding the whole reply where it comes first,
// as planners write it.
func replyID(value []byte) ([]byte, bool) {
	if rest, ok := bytes.CutPrefix(value, idFirst); ok {
		if end := bytes.IndexByte(rest, '"'); end > 0 && bytes.IndexByte(rest[:end], '\\') < 0 {
			return rest[:end], true
		}
	}
	var head struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(value, &head); err != nil || head.ID == "" {
		return nil, false
	}
	return []byte(head.ID), true
}

func (cl *Client) failAll(err error) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for id, c := range cl.waiting {
		c.fail(err)
		delete(cl.waiting, id)
	}
}
