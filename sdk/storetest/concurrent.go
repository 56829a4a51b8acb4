package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/sdk/store"
)

// several opens the place twice if it may be, else it gives one store twice.
func several(t *testing.T, p Place) []store.Store {
	first := open(t, p)
	if p.Shared {
		return []store.Store{first, open(t, p)}
	}
	return []store.Store{first, first}
}

// oneAppenderWins has many who append at the same position: one gets it each time, and its entries are what is there.
func oneAppenderWins(t *testing.T, p Place) {
	stores := several(t, p)
	const writers = 8
	var want []string
	for round := range 12 {
		at := uint64(len(want))
		errs := make([]error, writers)
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				errs[w] = stores[w%2].Append(t.Context(), "one", at, 1, texts(fmt.Sprint(round, " by ", w), fmt.Sprint(round, " too by ", w)))
			})
		}
		all.Wait()
		winners := 0
		for w, err := range errs {
			if err == nil {
				winners++
				want = append(want, fmt.Sprint(round, " by ", w), fmt.Sprint(round, " too by ", w))
				continue
			}
			wantConflict(t, err, store.Conflict{ID: "one", Expected: at, Actual: at + 2})
		}
		if winners != 1 {
			t.Fatalf("%d writers got position %d, want 1", winners, at)
		}
		wantLog(t, stores[round%2], "one", 1, want...)
	}
}

// manyWriters has writers of several epochs, each of which goes on from where the log is, until it is fenced.
// In the log are then exactly the entries that were acknowledged, and epochs never go back.
func manyWriters(t *testing.T, p Place) {
	stores := several(t, p)
	const writers, each = 6, 8
	acked := make([]map[uint64]string, writers)
	failed := make([]error, writers)
	var all sync.WaitGroup
	for w := range writers {
		acked[w] = map[uint64]string{}
		all.Go(func() { failed[w] = write(t.Context(), stores[w%2], w, each, acked[w]) })
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
	log := mustRead(t, stores[0], "many")
	count, before := 0, 0
	for w := range acked {
		count += len(acked[w])
		for at, entry := range acked[w] {
			if at >= uint64(len(log)) || log[at] != entry {
				t.Errorf("position %d, where %q was acknowledged, has something else", at, entry)
			}
		}
	}
	for at, entry := range log {
		var epoch, n int
		if _, err := fmt.Sscanf(entry, "%d %d", &epoch, &n); err != nil || epoch < before {
			t.Errorf("%q at position %d comes behind epoch %d", entry, at, before)
		}
		before = epoch
	}
	if count != len(log) {
		t.Errorf("%d entries, of which %d were acknowledged", len(log), count)
	}
	if len(acked[writers-1]) != each {
		t.Errorf("the highest epoch has written %d entries, want %d", len(acked[writers-1]), each)
	}
}

// write appends entries in an epoch until they are all there or it is fenced.
func write(ctx context.Context, s store.Store, epoch, entries int, acked map[uint64]string) error {
	for n, at := 0, uint64(0); n < entries; {
		entry := fmt.Sprint(epoch, " ", n)
		err := s.Append(ctx, "many", at, uint64(epoch), texts(entry))
		var c *store.Conflict
		var f *store.Fenced
		switch {
		case err == nil:
			acked[at] = entry
			n, at = n+1, at+1
		case errors.As(err, &c):
			if c.Actual <= at {
				return fmt.Errorf("behind %d entries: %w", at, err)
			}
			at = c.Actual
		case errors.As(err, &f):
			if f.Current <= uint64(epoch) {
				return err
			}
			return nil
		default:
			return err
		}
	}
	return nil
}

// readersSeeWholeBatches reads while batches of three are appended.
func readersSeeWholeBatches(t *testing.T, s store.Store) {
	const batches = 30
	written := make(chan error, 1)
	go func() {
		for b := range batches {
			e := fmt.Sprint(b)
			if err := s.Append(t.Context(), "log", uint64(3*b), 1, texts(e, e, e)); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	done, last := false, 0
	for !done {
		select {
		case err := <-written:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
		part, err := s.Load(t.Context(), "log", 0)
		if err != nil {
			t.Fatal(err)
		}
		n := len(part.Entries)
		if n != int(part.End) || n%3 != 0 || n < last {
			t.Fatalf("read %d entries of %d behind a read of %d: batches are of 3", n, part.End, last)
		}
		for i, e := range part.Entries {
			if string(e) != fmt.Sprint(i/3) {
				t.Fatalf("entry %d is %q", i, e)
			}
		}
		last = n
	}
	if last != 3*batches {
		t.Fatalf("%d entries, want %d", last, 3*batches)
	}
}

// givenUp ends the contexts of appends at all moments: each is there wholly or not, and is if it was acknowledged.
func givenUp(t *testing.T, s store.Store) {
	at, took, undone := uint64(0), time.Duration(0), 0
	batch := texts(large("a", 100_000), large("b", 100_000), large("c", 100_000))
	for n := range 24 {
		// from at once to twice of what the last whole one has taken
		ctx, cancel := context.WithTimeout(t.Context(), took*time.Duration(n%12)/6)
		began := time.Now()
		epoch := uint64(2 * n)
		err := s.Append(ctx, "given up", at, epoch, batch)
		if err == nil {
			took = time.Since(began)
		} else {
			undone++
		}
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("an append whose time was over gave the error %v", err)
		}
		end := settle(t, s, "given up", epoch+1)
		if end != at && end != at+3 || err == nil && end != at+3 {
			t.Fatalf("the log has %d entries behind an append of 3 to %d that answered %v", end, at, err)
		}
		at = end
		if at == 0 { // so that there is a time to compare with
			began = time.Now()
			mustAppend(t, s, "given up", 0, epoch+1, "a", "b", "c")
			at, took = 3, time.Since(began)
		}
	}
	if undone == 0 {
		t.Error("no append was given up")
	}
}

// settle finds where a log ends and makes sure of it, by an append of no entries in a higher epoch than those whose
// end is not known: from then on they are fenced. It returns the end.
func settle(t tester, s store.Store, id string, epoch uint64) uint64 {
	t.Helper()
	for at := uint64(0); ; {
		err := s.Append(t.Context(), id, at, epoch, nil)
		var c *store.Conflict
		switch {
		case err == nil:
			return at
		case errors.As(err, &c):
			at = c.Actual
		default:
			t.Fatalf("claiming %q in epoch %d: %v", id, epoch, err)
		}
	}
}
