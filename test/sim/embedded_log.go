package sim

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// append implements brokers.
func (e *embedded) append(rec *kgo.Record) (int64, error) {
	return e.send(placeOf(rec), []*kgo.Record{rec}, nil)
}

// send produces a batch and says where its first record is.
func (e *embedded) send(at place, recs []*kgo.Record, s *session) (int64, error) {
	e.grew(at.topic)
	req := kmsg.NewPtrProduceRequest()
	req.Acks = -1
	if s != nil {
		req.TransactionID = &s.id
	}
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = at.partition, batch(recs, s)
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = at.topic, []kmsg.ProduceRequestTopicPartition{p}
	req.Topics = []kmsg.ProduceRequestTopic{t}
	got := ask[kmsg.ProduceResponse](e, req).Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return -1, err
	}
	return got.BaseOffset, nil
}

// readable implements brokers. Nothing below a reader's place is ever lost here,
// but for the oldest records.
func (e *embedded) readable(at place, from int64, _ int32) bool {
	return from < e.offset(at, stable) || from < e.offset(at, starts) || from > e.offset(at, ends)
}

func (e *embedded) offset(at place, which which) int64 {
	return e.offsets(at.topic, which, 0)[at.partition]
}

const (
	mostFetched = 256 << 10 // bytes of a fetch
	oneBatch    = 1         // the least: a broker answers with a batch all the same
	fewRecords  = 4         // so many are likely to be in one
)

// fetch implements brokers.
func (e *embedded) fetch(at place, from int64, epoch int32, most int) ([]*kgo.Record, int64, error) {
	bytes := int32(mostFetched)
	if most <= fewRecords {
		bytes = oneBatch
	}
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.FetchOffset, p.PartitionMaxBytes = at.partition, epoch, from, bytes
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = at.topic, []kmsg.FetchRequestTopicPartition{p}
	req := kmsg.NewPtrFetchRequest()
	req.IsolationLevel, req.MaxBytes, req.SessionEpoch, req.Topics = 1, bytes, -1, []kmsg.FetchRequestTopic{t}
	resp := ask[kmsg.FetchResponse](e, req)
	e.expect("fetching "+at.String(), kerr.ErrorForCode(resp.ErrorCode))
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: true, Offset: from, IsolationLevel: kgo.ReadCommitted(), Topic: at.topic, Partition: at.partition,
	}, &resp.Topics[0].Partitions[0], kgo.DefaultDecompressor(), nil)
	if got.Err != nil {
		return nil, from, got.Err
	}
	if len(got.Records) > most {
		got.Records, next = got.Records[:most], got.Records[most-1].Offset+1
	}
	return got.Records, next, nil
}

// offsets implements brokers.
func (e *embedded) offsets(topic string, which which, ms int64) []int64 {
	if which == stampedAt {
		return e.list(topic, which, ms)
	}
	of := offsetsOf{topic, which}
	if e.known[of] == nil {
		e.known[of] = e.list(topic, which, 0)
	}
	return e.known[of]
}

// Offsets that ListOffsets knows by a name.
const (
	latest   = -1
	earliest = -2
)

// list asks for offsets of all partitions of a topic.
func (e *embedded) list(topic string, which which, ms int64) []int64 {
	req := kmsg.NewPtrListOffsetsRequest()
	switch which {
	case starts:
		ms = earliest
	case ends:
		ms = latest
	case stable:
		ms, req.IsolationLevel = latest, 1
	case stampedAt: // as of ms
	}
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for i := range e.topics[topic].partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = i, ms
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = []kmsg.ListOffsetsRequestTopic{t}
	all := make([]int64, len(t.Partitions))
	for _, p := range ask[kmsg.ListOffsetsResponse](e, req).Topics[0].Partitions {
		e.expect("listing offsets of "+topic, kerr.ErrorForCode(p.ErrorCode))
		all[p.Partition] = p.Offset
		if p.Offset < 0 { // no record of that time: clients take the end
			all[p.Partition] = e.offset(place{topic, p.Partition}, ends)
		}
	}
	return all
}

// epoch implements brokers: there is no election.
func (e *embedded) epoch(place) int32 { return 0 }

// expire implements brokers.
func (e *embedded) expire(at place, start int64) {
	e.forget()
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = at.partition, start
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic, t.Partitions = at.topic, []kmsg.DeleteRecordsRequestTopicPartition{p}
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Topics = []kmsg.DeleteRecordsRequestTopic{t}
	got := ask[kmsg.DeleteRecordsResponse](e, req).Topics[0].Partitions[0]
	e.expect("deleting records of "+at.String(), kerr.ErrorForCode(got.ErrorCode))
}

// byPlace are records by their places, as they follow each other.
func byPlace(recs []*kgo.Record) [][]*kgo.Record {
	var all [][]*kgo.Record
	for _, rec := range recs {
		i := slices.IndexFunc(all, func(run []*kgo.Record) bool { return placeOf(run[0]) == placeOf(rec) })
		if i < 0 {
			all = append(all, nil)
			i = len(all) - 1
		}
		all[i] = append(all[i], rec)
	}
	return all
}
