package journal

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// stream is one reading under way.
type stream struct {
	Range
	place Place
	visit func(Entry) error
}

func (s *stream) done() bool { return s.To >= 0 && s.place.Offset >= int64(s.To) }

func (s *stream) run(ctx context.Context, cl Log) error {
	for !s.done() {
		fetches := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return s.wrap(err)
		}
		for _, f := range fetches.Errors() {
			if !kafka.IsRetriable(f.Err) {
				return s.wrap(f.Err)
			}
		}
		for records := fetches.RecordIter(); !records.Done() && !s.done(); {
			rec := records.Next()
			s.place.Offset = rec.Offset + 1
			if err := s.record(rec); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stream) wrap(err error) error {
	return fmt.Errorf("reading journal partition %d at offset %d: %w", s.Partition, s.place.Offset, err)
}

// record passes over what is void (J1): foreign records, and marks of
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
		return fmt.Errorf("journal partition %d, offset %d: %w", s.Partition, in.Offset, err)
	}
	return s.visit(Entry{Mark: s.place.Last, Record: rec})
}
