package sim

import (
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// batch is records of one partition as a producer sends them, of no transaction
// if there is no session. Producers stamp what has no stamp.
func batch(recs []*kgo.Record, s *session) []byte {
	b := kmsg.NewRecordBatch()
	b.Magic, b.NumRecords, b.LastOffsetDelta = 2, int32(len(recs)), int32(len(recs)-1)
	b.ProducerID, b.ProducerEpoch, b.FirstSequence = -1, -1, -1
	if s != nil {
		at := placeOf(recs[0])
		b.Attributes = transactional
		b.ProducerID, b.ProducerEpoch, b.FirstSequence = s.producer, int16(s.epoch), s.next[at]
		s.next[at] += b.NumRecords
	}
	for i, rec := range recs {
		stamp := rec.Timestamp
		if stamp.IsZero() {
			stamp = time.Now()
		}
		if ms := stamp.UnixMilli(); i == 0 {
			b.FirstTimestamp, b.MaxTimestamp = ms, ms
		} else {
			b.MaxTimestamp = max(b.MaxTimestamp, ms)
		}
		r := kmsg.Record{TimestampDelta64: stamp.UnixMilli() - b.FirstTimestamp, OffsetDelta: int32(i), Key: rec.Key, Value: rec.Value}
		for _, h := range rec.Headers {
			r.Headers = append(r.Headers, kmsg.Header{Key: h.Key, Value: h.Value})
		}
		r.Length = int32(len(r.AppendTo(nil)) - 1) // its own varint is one byte
		b.Records = r.AppendTo(b.Records)
	}
	const framed, summed = 12, 21 // bytes before what length and checksum cover
	b.Length = int32(len(b.AppendTo(nil)) - framed)
	b.CRC = int32(crc32.Checksum(b.AppendTo(nil)[summed:], crc32.MakeTable(crc32.Castagnoli)))
	return b.AppendTo(nil)
}

const transactional = 0x10 // of a batch's attributes
