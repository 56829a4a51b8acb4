package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/kafka"
)

// initialize implements brokers.
func (e *embedded) initialize(id string) (*session, error) {
	s := &session{id: id, producer: -1, epoch: -1}
	return s, e.initProducer(s)
}

// initProducer is InitProducerID: of a session that has no id yet, or of one that
// recovers.
func (e *embedded) initProducer(s *session) error {
	e.ended(s)
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &s.id, int32(txnTimeout.Milliseconds())
	req.ProducerID, req.ProducerEpoch = s.producer, int16(s.epoch)
	resp := ask[kmsg.InitProducerIDResponse](e, req)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return err
	}
	s.begin(resp.ProducerID, resp.ProducerEpoch)
	return nil
}

// ended notes that no transaction of a session's id is open any more.
func (e *embedded) ended(s *session) {
	delete(e.began, s.id)
	e.forget()
}

// wrote notes that a session's transaction is open, if the broker has let it.
func (e *embedded) wrote(s *session) {
	s.wrote = true
	if _, ok := e.began[s.id]; !ok {
		e.began[s.id] = time.Now()
	}
}

// begin lets a session go on at an epoch.
func (s *session) begin(producer int64, epoch int16) {
	s.producer, s.epoch, s.next, s.wrote = producer, int(epoch), map[place]int32{}, false
}

// settle implements brokers: clients then ask for their producer id again.
func (e *embedded) settle(s *session) error { return e.initProducer(s) }

// produce implements brokers: a batch for each partition.
func (e *embedded) produce(s *session, recs []*kgo.Record) error {
	for _, run := range byPlace(recs) {
		e.wrote(s)
		first, err := e.send(placeOf(run[0]), run, s)
		if err != nil {
			return err
		}
		for i, rec := range run {
			rec.Offset = first + int64(i)
		}
	}
	return nil
}

// stage implements brokers. The group is the scheduler's, so the broker takes the
// positions as those of no member.
func (e *embedded) stage(s *session, commit *kafka.Commit, member func(*kafka.Commit) error) error {
	if err := member(commit); err != nil {
		return err
	}
	e.wrote(s)
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = s.id, s.producer, int16(s.epoch)
	req.Group, req.Generation = commit.Group, -1
	for _, topic := range sortedKeys(commit.Positions) {
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic = topic
		for p, at := range commit.Positions[topic] {
			part := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			part.Partition, part.Offset, part.LeaderEpoch, part.Metadata = p, at.Offset, at.LeaderEpoch, &at.Metadata
			t.Partitions = append(t.Partitions, part)
		}
		slices.SortFunc(t.Partitions, func(a, b kmsg.TxnOffsetCommitRequestTopicPartition) int { return int(a.Partition - b.Partition) })
		req.Topics = append(req.Topics, t)
	}
	for _, t := range ask[kmsg.TxnOffsetCommitResponse](e, req).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish implements brokers. The end of a transaction begins a new epoch.
func (e *embedded) finish(s *session, commit bool) error {
	if !s.wrote {
		return nil // clients do not ask for that
	}
	e.ended(s)
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = s.id, s.producer, int16(s.epoch), commit
	resp := ask[kmsg.EndTxnResponse](e, req)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return err
	}
	s.begin(resp.ProducerID, resp.ProducerEpoch)
	return nil
}

// quiet implements brokers: the broker writes all control records before it answers.
func (e *embedded) quiet(string) bool { return true }

// open implements brokers.
func (e *embedded) open() []string {
	req := kmsg.NewPtrListTransactionsRequest()
	req.StateFilters = []string{"Ongoing"}
	resp := ask[kmsg.ListTransactionsResponse](e, req)
	e.expect("listing transactions", kerr.ErrorForCode(resp.ErrorCode))
	var all []string
	for _, t := range resp.TransactionStates {
		all = append(all, t.TransactionalID)
	}
	slices.Sort(all)
	return all
}

// commit implements brokers.
func (e *embedded) commit(group string, at place, offset int64) {
	delete(e.groups, group)
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = at.partition, offset
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.Partitions = at.topic, []kmsg.OffsetCommitRequestTopicPartition{p}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation, req.Topics = group, -1, []kmsg.OffsetCommitRequestTopic{t}
	got := ask[kmsg.OffsetCommitResponse](e, req).Topics[0].Partitions[0]
	e.expect("committing "+at.String(), kerr.ErrorForCode(got.ErrorCode))
}

// uncommit implements brokers.
func (e *embedded) uncommit(group string, at place) {
	delete(e.groups, group)
	t := kmsg.NewOffsetDeleteRequestTopic()
	t.Topic, t.Partitions = at.topic, []kmsg.OffsetDeleteRequestTopicPartition{{Partition: at.partition}}
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group, req.Topics = group, []kmsg.OffsetDeleteRequestTopic{t}
	e.expect("deleting an offset of "+group, kerr.ErrorForCode(ask[kmsg.OffsetDeleteResponse](e, req).ErrorCode))
}

// committed implements brokers.
func (e *embedded) committed(group string) map[place]int64 {
	if e.groups[group] == nil {
		e.groups[group] = e.fetchOffsets(group)
	}
	return e.groups[group]
}

func (e *embedded) fetchOffsets(group string) map[place]int64 {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group // of all topics
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Groups = []kmsg.OffsetFetchRequestGroup{g}
	all := map[place]int64{}
	for _, g := range ask[kmsg.OffsetFetchResponse](e, req).Groups {
		if err := kerr.ErrorForCode(g.ErrorCode); !errors.Is(err, kerr.GroupIDNotFound) { // nobody has committed
			e.expect("offsets of "+group, err)
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				e.expect("offsets of "+group, kerr.ErrorForCode(p.ErrorCode))
				all[place{t.Topic, p.Partition}] = p.Offset
			}
		}
	}
	return all
}
