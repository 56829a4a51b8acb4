package journal

import (
	"context"
	"errors"
	"fmt"
)

// Prove says why the journal does not hold, as lawful records, the one at from,
// the one at to, and between them those that were there when the marks were
// made; empty means that it does. A zero from is the journal's beginning. Of a
// from that is known to be lawful, as its checkpoint is committed, the record may
// have expired, with all below covered: nothing counts that is between.
func (r *Reader) Prove(ctx context.Context, partition int32, from, to Mark, covered int64) (why string, err error) {
	if to.IsZero() {
		return "", nil
	}
	b, err := r.Bounds(ctx, partition)
	if err != nil {
		return "", err
	}
	if to.Offset >= b.End {
		return fmt.Sprintf("journal partition %d at offset %d: %v: %d", partition, to.Offset, ErrShort, b.End), nil
	}
	begin := Place{Last: from}
	if !from.IsZero() {
		begin = Place{Offset: from.Offset, Filter: At(from.Position), Last: from}
		if from.Offset < b.Start && b.Start <= covered {
			begin = Place{Offset: b.Start, Filter: After(from.Position), Last: from}
		}
	}
	place, err := r.Read(ctx, Range{
		Partition: partition, From: begin, To: End(to.Offset + 1),
		Wanted: func([]byte) bool { return false },
	}, nil)
	switch {
	case errors.Is(err, ErrGone), errors.Is(err, ErrShort):
		return err.Error(), nil
	case err != nil:
		return "", err
	case place.Last != to: // what the marks are of never was (O4)
		return fmt.Sprintf("journal partition %d has %s at offset %d, where %s was at %d",
			partition, place.Last.Position, place.Last.Offset, to.Position, to.Offset), nil
	}
	return "", nil
}
