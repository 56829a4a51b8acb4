package store

import (
	"context"
	"fmt"
	"iter"
)

// Entries goes through a log from a position on, loading a part at a time, up to the end that
// it has when its last part is loaded. An error is the last thing it yields: of the store, or that the log was
// deleted meanwhile. The entries are the caller's.
func Entries(ctx context.Context, s Store, id string, from uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for at := from; ; {
			log, err := s.Load(ctx, id, at)
			if err != nil {
				yield(nil, fmt.Errorf("loading the log %q from position %d: %w", id, at, err))
				return
			}
			for _, e := range log.Entries {
				if !yield(e, nil) {
					return
				}
			}
			at += uint64(len(log.Entries))
			switch {
			case at > from && log.End < at:
				yield(nil, fmt.Errorf("loading the log %q: it was deleted while position %d was read", id, at))
				return
			case log.End <= at:
				return
			case len(log.Entries) == 0:
				yield(nil, fmt.Errorf("loading the log %q: the store gives nothing at position %d of %d", id, at, log.End))
				return
			}
		}
	}
}
