package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Outcome says what became of a transaction that failed.
type Outcome int

const (
	// Failed: nothing was written; the same transaction may be tried again.
	Failed Outcome = iota + 1
	// NotMember: nothing was written, because the group does not know the
	// member at that generation; try again with the group's present one.
	NotMember
	// NoPositions: nothing was written, because the group's coordinator did not
	// take the positions in time; try again without them.
	NoPositions
	// TooLarge: nothing was written, because a record does not fit.
	TooLarge
	// Unknown: the commit was sent and not answered. The next Run settles it
	// and its success says nothing about this one.
	Unknown
	// Deposed: a newer owner fenced this one. Stop at once.
	Deposed
)

func (o Outcome) String() string {
	switch o {
	case Failed:
		return "failed"
	case NotMember:
		return "not a member"
	case NoPositions:
		return "no positions"
	case TooLarge:
		return "too large"
	case Unknown:
		return "unknown"
	case Deposed:
		return "deposed"
	}
	return "no outcome"
}

// TxnError is why a transaction did not commit.
type TxnError struct {
	Outcome Outcome
	Err     error
}

func (e *TxnError) Error() string { return e.Err.Error() + " (" + e.Outcome.String() + ")" }

func (e *TxnError) Unwrap() error { return e.Err }

// Commit is the positions that a transaction commits for a consumer group, in
// the name of one of its members.
type Commit struct {
	Group      string
	Member     string // of the group's client (GroupMetadata), not of this one
	Generation int32
	Positions  map[string]map[int32]Position // by topic and partition; the group need not subscribe to the topic
	Within     time.Duration                 // in which the coordinator takes them; 0: as long as the transaction lasts
	Until      time.Time                     // when they are given up, whatever is left of Within; zero: never
}

// leastPatience is what a coordinator that is there always gets to answer in.
const leastPatience = 250 * time.Millisecond

// Patience is how long the coordinator gets to take the positions from now on. One
// that is there answers at once: it is asked even where Until has passed, as the
// transaction would have to be written again without that.
func (c *Commit) Patience() time.Duration {
	d := c.Within
	if d <= 0 {
		d = txnTimeout
	}
	if !c.Until.IsZero() {
		d = min(d, max(leastPatience, time.Until(c.Until)))
	}
	return d
}

// Position is the next offset to read.
type Position struct {
	Offset      int64
	LeaderEpoch int32 // -1 when not known
	Metadata    string
}

// commitPositions stages the positions in the open transaction.
func (t *Txn) commitPositions(ctx context.Context, c *Commit) error {
	ctx, stop := context.WithTimeout(ctx, c.Patience())
	defer stop()
	if err := t.loadTopicIDs(ctx, c.Positions); err != nil {
		return err
	}
	if !t.implicit {
		if err := t.addOffsets(ctx, c.Group); err != nil {
			return err
		}
	}
	return t.retrying(ctx, func() error { return t.sendCommit(ctx, c) })
}

// addOffsets makes the group part of the transaction, which brokers before
// transaction.version 2 need.
func (t *Txn) addOffsets(ctx context.Context, group string) error {
	return t.retrying(ctx, func() error {
		id, epoch, err := t.cl.ProducerID(ctx)
		if err != nil {
			return err
		}
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = t.id, id, epoch, group
		resp, err := req.RequestWith(ctx, t.cl)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.ErrorCode)
	})
}

func (t *Txn) sendCommit(ctx context.Context, c *Commit) error {
	id, epoch, err := t.cl.ProducerID(ctx)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = t.id, id, epoch
	req.Group, req.MemberID, req.Generation = c.Group, c.Member, c.Generation
	for topic, partitions := range c.Positions {
		rt := kmsg.NewTxnOffsetCommitRequestTopic()
		// Version 6 of the request carries the id, older ones the name.
		rt.Topic, rt.TopicID = topic, t.topicIDs[topic]
		for p, pos := range partitions {
			rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			rp.Partition, rp.Offset, rp.LeaderEpoch, rp.Metadata = p, pos.Offset, pos.LeaderEpoch, &pos.Metadata
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	resp, err := req.RequestWith(ctx, t.cl)
	if err != nil {
		return err
	}
	for _, rt := range resp.Topics {
		for _, rp := range rt.Partitions {
			if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
				return t.forget(err)
			}
		}
	}
	return nil
}

// forget drops the known topic ids when the broker does not know one of them.
func (t *Txn) forget(err error) error {
	if errors.Is(err, kerr.UnknownTopicID) {
		t.topicIDs = nil
	}
	return err
}

// retrying asks a coordinator that is loading, moving or busy again.
func (t *Txn) retrying(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if !IsRetriable(err) || errors.Is(err, kerr.UnknownTopicID) {
			return err
		}
		if pause(ctx, txnBackoff) != nil {
			return err
		}
	}
}

func (t *Txn) loadTopicIDs(ctx context.Context, positions map[string]map[int32]Position) error {
	req := kmsg.NewPtrMetadataRequest()
	for topic := range positions {
		if _, ok := t.topicIDs[topic]; !ok {
			rt := kmsg.NewMetadataRequestTopic()
			rt.Topic = kmsg.StringPtr(topic)
			req.Topics = append(req.Topics, rt)
		}
	}
	if len(req.Topics) == 0 {
		return nil
	}
	resp, err := req.RequestWith(ctx, t.cl)
	if err != nil {
		return fmt.Errorf("ask for topic ids: %w", err)
	}
	if t.topicIDs == nil {
		t.topicIDs = map[string][16]byte{}
	}
	for _, rt := range resp.Topics {
		if err := kerr.ErrorForCode(rt.ErrorCode); err != nil {
			return fmt.Errorf("ask for topic ids: %w", err)
		}
		t.topicIDs[*rt.Topic] = rt.TopicID
	}
	return nil
}
