package journal

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// stream is one reading under way.
type stream struct {
	Range
	place Place
	visit func(Entry) error

	reader *Reader
}

// patience is how long nothing may come of a range before its end is asked for again.
const patience = 5 * time.Second

// run reads the range to its end.
func (s *stream) run(ctx context.Context, cl Log) error {
	var own error // which says where it was met
	g := kafka.Range{
		Topic: s.reader.topic, Partition: s.Partition, From: s.place.Offset, To: int64(s.To), Wait: patience, Pace: s.Pace,
		Stalled: func(ctx context.Context, from int64) error {
			own = s.reader.stuck(ctx, s.Partition, from, int64(s.To))
			return own
		},
	}
	err := g.Read(ctx, cl, func(k *kgo.Record) error {
		s.place.Offset = k.Offset + 1
		own = s.record(k)
		return own
	})
	if err == nil || own != nil {
		return err
	}
	return fmt.Errorf("reading journal partition %d at offset %d: %w", s.Partition, s.place.Offset, err)
}

// record passes over what is void: foreign records, and control records of
// transactions, among it.
func (s *stream) record(in *kgo.Record) error {
	if in.Attrs.IsControl() {
		return nil
	}
	h, err := ParseHeaders(in.Headers)
	if err != nil {
		return nil
	}
	if lawful := h.Lawful(&s.place.Filter); !lawful && !s.Void {
		return nil
	}
	if last := s.place.Last; !last.names(h.Position, in.Offset, in.Value) {
		if last.Position == h.Position {
			last = Mark{} // read again, and not the same
		}
		s.place.Last = last.Next(h.Position, in.Offset, in.Value)
	}
	if s.Wanted != nil && !s.Wanted(in.Key) {
		return nil
	}
	rec, err := decode(in, h)
	if err != nil {
		return &UnreadableError{Partition: s.Partition, Offset: in.Offset, Err: err}
	}
	return s.visit(Entry{Mark: s.place.Last, Record: rec, Value: in.Value})
}

// UnreadableError is a record that counts and cannot be decoded: what it says is not
// known, and no reader may pass it over.
type UnreadableError struct {
	Partition int32
	Offset    int64
	Err       error
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("journal partition %d, offset %d: %v", e.Partition, e.Offset, e.Err)
}

func (e *UnreadableError) Unwrap() error { return e.Err }
