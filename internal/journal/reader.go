package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
)

// Errors of places that a journal partition does not have.
var (
	// ErrGone: retention has deleted the records at the place.
	ErrGone = errors.New("the journal begins after this place")
	// ErrShort: the journal ends before a place that is known to have existed.
	// It is never repaired silently.
	ErrShort = errors.New("the journal ends before this place")
	// ErrHeld: what is behind the place is not decided. It is when that transaction
	// ends, or when the brokers end it.
	ErrHeld = errors.New("a transaction that another producer has open hides the journal from this place on")
)

// Stop is what a visitor returns to end a reading without an error.
var Stop = errors.New("stop reading")

// Reader reads the journal partitions of a deployment, committed records only.
// It is safe for concurrent use: every reading has a client of its own.
type Reader struct {
	source Source
	topic  string
}

// NewReader makes a Reader. It asks the brokers nothing yet.
func NewReader(c kafka.Config) (*Reader, error) {
	names, err := c.Names()
	if err != nil {
		return nil, err
	}
	s, err := NewSource(c)
	if err != nil {
		return nil, err
	}
	return Over(s, names), nil
}

// Over makes a Reader of the journal of these names in a cluster. It closes the
// source.
func Over(s Source, names topics.Names) *Reader { return &Reader{source: s, topic: names.Journal()} }

// Close ends the Reader; readings under way go on.
func (r *Reader) Close() { r.source.Close() }

// Bounds are what a partition holds: the offsets from Start on and below End,
// which is as far as transactions are decided.
type Bounds struct{ Start, End int64 }

// Bounds asks for the bounds of a partition as of now.
func (r *Reader) Bounds(ctx context.Context, partition int32) (Bounds, error) {
	start, err := r.offset(partition)(r.source.ListStartOffsets(ctx, r.topic))
	if err != nil {
		return Bounds{}, fmt.Errorf("asking for the start of journal partition %d: %w", partition, err)
	}
	end, err := r.offset(partition)(r.source.ListCommittedOffsets(ctx, r.topic))
	if err != nil {
		return Bounds{}, fmt.Errorf("asking for the end of journal partition %d: %w", partition, err)
	}
	return Bounds{start, end}, nil
}

// stuck says why nothing comes from a place on, up to an end that was known to be
// there: nil if it may come yet.
func (r *Reader) stuck(ctx context.Context, partition int32, from, to int64) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	end, err := r.offset(partition)(r.source.ListEndOffsets(ctx, r.topic))
	if err != nil {
		return nil //nolint:nilerr // the reading has its own errors, and goes on
	}
	if end < to {
		return fmt.Errorf("journal partition %d at offset %d: %w: it ends at %d now, and ended at %d", partition, from, ErrShort, end, to)
	}
	decided, err := r.offset(partition)(r.source.ListCommittedOffsets(ctx, r.topic))
	if err == nil && decided <= from {
		return fmt.Errorf("journal partition %d at offset %d: %w", partition, from, ErrHeld)
	}
	return nil
}

// OffsetAt is the offset of the first record of a partition whose time (times
// ascend) is not before t; the end if there is none.
func (r *Reader) OffsetAt(ctx context.Context, partition int32, t time.Time) (int64, error) {
	at, err := r.offset(partition)(r.source.ListOffsetsAfterMilli(ctx, t.UnixMilli(), r.topic))
	if err != nil {
		return 0, fmt.Errorf("asking for the place of %s in journal partition %d: %w", t, partition, err)
	}
	return at, nil
}

// offset picks the answer for one partition.
func (r *Reader) offset(partition int32) func(kadm.ListedOffsets, error) (int64, error) {
	return func(all kadm.ListedOffsets, err error) (int64, error) {
		return kafka.OffsetOf(all, err, r.topic, partition)
	}
}

// Place is where a reading begins, or could go on.
type Place struct {
	Offset int64 // of the next record to read
	Filter Filter
	Last   Mark // of the last lawful record; its digest goes on from here
}

// Behind is the place behind a lawful record; behind the zero Mark is the
// journal's beginning. A mark of seq 0 names no record: it stands before the first one
// of its epoch, which is known to be lawful, whatever it replaces.
func Behind(m Mark) Place {
	if m.IsZero() {
		return Place{}
	}
	if m.Position.Seq == 0 {
		first := events.Position{Epoch: m.Position.Epoch, Seq: 1}
		return Place{Offset: m.Offset + 1, Filter: At(first), Last: m}
	}
	return Place{Offset: m.Offset + 1, Filter: After(m.Position), Last: m}
}

// Before is a place at or before a record that is known to be lawful: the first
// one visited. Marks of entries read from here have no digest of what was before.
func Before(first events.Position, offset int64) Place {
	return Place{Offset: offset, Filter: At(first)}
}

// Begin is the place where all that a partition still has can be read from. Behind
// a journal's beginning which records count is known from those before; one whose
// owner has trimmed it is read from the first record that its next one follows.
func (r *Reader) Begin(ctx context.Context, partition int32) (Place, error) {
	b, err := r.Bounds(ctx, partition)
	if err != nil || b.Start == 0 {
		return Place{}, err
	}
	var first *events.Record
	rg := Range{Partition: partition, From: Place{Offset: b.Start}, To: Now, Void: true}
	_, err = r.Read(ctx, rg, func(e Entry) error {
		if first != nil && follows(first.Position, e.Record) {
			return Stop
		}
		first = e.Record
		return nil
	})
	if err != nil || first == nil {
		return Place{Offset: b.Start}, err
	}
	return Before(first.Position, b.Start), nil
}

// follows reports whether a record is lawful behind one that is.
func follows(last events.Position, rec *events.Record) bool {
	f := After(last)
	return headerOf(rec).Lawful(&f)
}

// End is where a reading ends: an offset (exclusive), or one of these.
type End int64

const (
	Follow End = -1 // never: go on with what is appended
	Now    End = -2 // the end of the log as it is when the reading begins
)

// Entry is one lawful record.
type Entry struct {
	Mark   Mark
	Record *events.Record
	Value  []byte // that Record is decoded from; shares memory with it, and with what was fetched beside it
}

// Range is what a reading covers.
type Range struct {
	Partition int32
	From      Place
	To        End
	// Wanted, if there is one, says by their keys (the workflow ID; empty for
	// the partition's own) which lawful records are decoded and visited.
	Wanted func(key []byte) bool
	// Pace is kafka.Range's.
	Pace time.Duration
	// Void takes what is void for lawful: what no reader may do, but for showing
	// that it would be noticed.
	Void bool
}

// Read visits the lawful records of a range in order and returns the place to go
// on from. A lawful record that cannot be decoded is an error that names it:
// readers stop there, they never skip it.
func (r *Reader) Read(ctx context.Context, rg Range, visit func(Entry) error) (Place, error) {
	b, err := r.Bounds(ctx, rg.Partition)
	if err != nil {
		return rg.From, err
	}
	switch {
	case rg.From.Offset < b.Start:
		return rg.From, fmt.Errorf("journal partition %d at offset %d: %w: %d", rg.Partition, rg.From.Offset, ErrGone, b.Start)
	case rg.From.Offset > b.End:
		return rg.From, fmt.Errorf("journal partition %d at offset %d: %w: %d", rg.Partition, rg.From.Offset, ErrShort, b.End)
	case rg.To == Now:
		rg.To = End(b.End)
	}
	s := stream{Range: rg, place: rg.From, visit: visit, reader: r}
	if rg.To >= 0 && rg.From.Offset >= int64(rg.To) {
		return s.place, nil
	}
	cl, err := r.source.OpenLog()
	if err != nil {
		return rg.From, err
	}
	defer cl.Close()
	cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{r.topic: {rg.Partition: kgo.NewOffset().At(rg.From.Offset)}})
	err = s.run(ctx, cl)
	if errors.Is(err, Stop) {
		err = nil
	}
	return s.place, err
}
