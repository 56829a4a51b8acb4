package sim

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// log is one partition: its records from start on, below end.
type log struct {
	at      place
	stamped bool // by the broker
	start   int64
	base    int64 // offset of entries[0]; at most start
	entries []*entry
	epoch   int32 // of the leader: a log that lost its tail has a new one
	cuts    []int64
}

// entry is a record of a log, or the control record that ends a transaction there.
type entry struct {
	rec     *kgo.Record
	txn     *transaction // nil: written without one
	control bool
}

// transaction is one transaction of a transactional id.
type transaction struct {
	open      bool
	committed bool
	ended     map[*log]bool // where its end is written
	logs      []*log        // that it wrote to, in order
}

// control are the attributes of a control record, which kgo keeps to itself:
// those of one that it has parsed.
var control = func() kgo.RecordAttrs {
	rec := kmsg.NewRecord()
	rec.Length = 6 // the bytes behind it: attributes, two deltas, lengths of key, value and headers
	raw := rec.AppendTo(nil)
	batch := kmsg.NewRecordBatch()
	batch.Magic, batch.Attributes, batch.NumRecords, batch.Records = 2, 0x20, 1, raw
	batch.Length = int32(49 + len(raw))
	part := kmsg.NewFetchResponseTopicPartition()
	part.RecordBatches = batch.AppendTo(nil)
	got, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{KeepControlRecords: true, DisableCRCValidation: true}, &part, kgo.DefaultDecompressor(), nil)
	if len(got.Records) != 1 || !got.Records[0].Attrs.IsControl() {
		panic("sim: kgo does not know a control record")
	}
	return got.Records[0].Attrs
}()

func (l *log) end() int64 { return l.base + int64(len(l.entries)) }

func (l *log) entry(offset int64) *entry { return l.entries[offset-l.base] }

// stable is how far transactions are decided.
func (l *log) stable() int64 {
	for i, e := range l.entries {
		if e.txn != nil && !e.control && !e.txn.ended[l] {
			return l.base + int64(i)
		}
	}
	return l.end()
}

// append writes a copy of a record and says where it is.
func (l *log) append(rec *kgo.Record, txn *transaction, now time.Time) int64 {
	c := *rec
	c.Topic, c.Partition, c.Offset, c.LeaderEpoch = l.at.topic, l.at.partition, l.end(), l.epoch
	if l.stamped {
		c.Timestamp = time.UnixMilli(now.UnixMilli())
	} else if c.Timestamp.IsZero() { // by its producer
		c.Timestamp = time.UnixMilli(time.Now().UnixMilli())
	}
	l.entries = append(l.entries, &entry{rec: &c, txn: txn})
	return c.Offset
}

// end writes the control record of a transaction.
func (l *log) endTxn(txn *transaction, now time.Time) {
	l.append(&kgo.Record{Attrs: control}, txn, now)
	l.entries[len(l.entries)-1].control = true
	txn.ended[l] = true
}

// cut removes the newest records, as an unclean election does.
func (l *log) cut(end int64) {
	l.entries = l.entries[:max(0, end-l.base)]
	l.epoch++
	l.cuts = append(l.cuts, l.end())
}

// expire removes the oldest records, as retention does.
func (l *log) expire(start int64) { l.start = max(l.start, min(start, l.end())) }

// fetch are records that a read-committed reader sees from an offset on, at most
// so many, with the offset to go on from. cuts are how many cuts the reader has
// seen; one that happened below its place since then is data loss.
func (l *log) fetch(from int64, most, cuts int) ([]*kgo.Record, int64, error) {
	if from < l.start || from > l.end() {
		return nil, from, kerr.OffsetOutOfRange
	}
	for _, c := range l.cuts[cuts:] {
		if c < from {
			return nil, from, &kgo.ErrDataLoss{ConsumedTo: from, ResetTo: c}
		}
	}
	var out []*kgo.Record
	next, stable := from, l.stable()
	for ; next < stable && len(out) < most; next++ {
		e := l.entry(next)
		if e.control || e.txn == nil || e.txn.committed {
			c := *e.rec
			out = append(out, &c)
		}
	}
	return out, next, nil
}

// since is the first offset stamped at a time or later, or the end.
func (l *log) since(ms int64) int64 {
	for o := l.start; o < l.end(); o++ {
		if l.entry(o).rec.Timestamp.UnixMilli() >= ms {
			return o
		}
	}
	return l.end()
}
