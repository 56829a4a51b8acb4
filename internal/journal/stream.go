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

// poll waits for records, of a range with an end not for ever, and says whether there
// were none. What has come counts, however late this process gets to see it: whoever
// passes a record over takes all that follow for void (J1).
func (s *stream) poll(ctx context.Context, cl Log) (fetches kgo.Fetches, none bool) {
	if s.To < 0 {
		return cl.PollFetches(ctx), false
	}
	some, stop := context.WithTimeout(ctx, patience)
	defer stop()
	fetches = cl.PollFetches(some)
	return fetches, fetches.NumRecords() == 0 && some.Err() != nil
}

func (s *stream) done() bool { return s.To >= 0 && s.place.Offset >= int64(s.To) }

func (s *stream) run(ctx context.Context, cl Log) error {
	for !s.done() {
		fetches, none := s.poll(ctx, cl)
		if err := ctx.Err(); err != nil {
			return s.wrap(err)
		}
		if none {
			if err := s.reader.stuck(ctx, s.Partition, s.place.Offset, int64(s.To)); err != nil {
				return err
			}
			continue
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
		return &UnreadableError{Partition: s.Partition, Offset: in.Offset, Err: err}
	}
	return s.visit(Entry{Mark: s.place.Last, Record: rec})
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
