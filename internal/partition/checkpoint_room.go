package partition

import "github.com/twmb/franz-go/pkg/kgo"

// recordRoom is where the records of a checkpoint are made; it is used again by
// the next. Records stay where they are.
type recordRoom struct {
	chunks [][]kgo.Record
	used   int // records
}

const (
	roomChunk  = 1024 // records
	mostChunks = 8    // that are kept for the next checkpoint
)

// record is an empty record.
func (r *recordRoom) record() *kgo.Record {
	chunk := r.used / roomChunk
	if chunk == len(r.chunks) {
		r.chunks = append(r.chunks, make([]kgo.Record, roomChunk))
	}
	rec := &r.chunks[chunk][r.used%roomChunk]
	r.used++
	return rec
}

// reset forgets the records, which nobody uses any more.
func (r *recordRoom) reset() {
	if len(r.chunks) > mostChunks {
		*r = recordRoom{}
	}
	for i := 0; i*roomChunk < r.used; i++ {
		clear(r.chunks[i])
	}
	r.used = 0
}
