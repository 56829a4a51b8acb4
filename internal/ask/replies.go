package ask

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

// settleIn finds the place of the address, and waits for the topic if it is not there
// yet.
func (a *Asker) settleIn(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, topicWait)
	defer stop()
	var missing error
	for {
		err := a.seekEnd(ctx)
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
func (a *Asker) seekEnd(ctx context.Context) error {
	topic := a.names.Replies()
	ends, err := kadm.NewClient(a.replies).ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return err
	}
	a.place = kafka.PartitionFor(a.address, int32(len(ends[topic])))
	end, ok := ends.Lookup(topic, a.place)
	if !ok {
		return fmt.Errorf("partition %d is not there", a.place)
	}
	a.replies.RemoveConsumePartitions(map[string][]int32{topic: {a.place}})
	a.replies.AddConsumePartitions(map[string]map[int32]kgo.Offset{
		topic: {a.place: kgo.NewOffset().At(end.Offset).WithEpoch(end.LeaderEpoch)},
	})
	return nil
}

// read hands replies to those who wait, until ctx ends.
func (a *Asker) read(ctx context.Context) {
	defer close(a.done)
	for ctx.Err() == nil {
		fetches := a.replies.PollFetches(ctx)
		fetches.EachRecord(a.deliver)
		if fetches.NumRecords() > 0 {
			a.said = ""
		}
		for _, f := range fetches.Errors() {
			if ctx.Err() != nil {
				return
			}
			a.recover(ctx, f.Err)
		}
	}
}

// recover goes on after a fetch error that kgo does not mend by itself.
func (a *Asker) recover(ctx context.Context, err error) {
	remade := kafka.IsRemade(err)
	if !remade && !kafka.IsDataLoss(err) {
		a.trouble(err)
		pause(ctx, time.Second)
		return
	}
	a.trouble(err)
	if remade { // kgo takes no other topic of this name before that
		a.replies.PurgeTopicsFromConsuming(a.names.Replies())
	}
	a.failAll(ErrRepliesLost)
	for ctx.Err() == nil {
		err := a.seekEnd(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			a.trouble(err)
		}
		pause(ctx, time.Second)
	}
}

// trouble says once what keeps replies from being read.
func (a *Asker) trouble(err error) {
	if a.said != err.Error() {
		a.said = err.Error()
		a.logger.Warn("replies cannot be read; it is tried again", "error", err)
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

func (a *Asker) deliver(r *kgo.Record) {
	if !bytes.Equal(r.Key, a.address) {
		return // another asker's, in the same partition
	}
	id, ok := replyID(r.Value)
	if !ok {
		a.logger.Warn("a reply without an id", "offset", r.Offset)
		return
	}
	a.mu.Lock()
	c := a.waiting[string(id)]
	a.mu.Unlock()
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

func (a *Asker) failAll(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, c := range a.waiting {
		c.fail(err)
		delete(a.waiting, id)
	}
}
