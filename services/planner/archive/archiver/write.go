package archiver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/shared/events"
)

// step lets a test end a tenure before something that leaves anything.
func (a *Archiver) step(name string) error {
	if a.cfg.before == nil {
		return nil
	}
	return a.cfg.before(name)
}

// saveDefinition keeps a definition, unless it is there: its digest says what is in it.
func (a *Archiver) saveDefinition(ctx context.Context, d archive.Definition) error {
	if err := a.step("definition"); err != nil {
		return err
	}
	err := a.store.Append(ctx, archive.DefinitionID(d.Digest), 0, 0, [][]byte{d.Canonical})
	var there *store.Conflict
	if err != nil && !errors.As(err, &there) {
		return fmt.Errorf("archiving the definition %s: %w", d.Digest, err)
	}
	return nil
}

// writeAll writes runs, some at a time, and tells the planners that wait for them. Where one fails those are told of that are written.
func (t *tenure) writeAll(ctx context.Context, due []*archive.Log) error {
	writing, stop := context.WithCancel(ctx)
	defer stop()
	places := make(chan struct{}, t.a.atOnce)
	var workers sync.WaitGroup
	var mu sync.Mutex
	var first error
	var written []*kgo.Record
	for _, l := range due {
		n := t.a.weight(l)
		for range n {
			places <- struct{}{}
		}
		workers.Go(func() {
			word, err := t.write(writing, l)
			for range n {
				<-places
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil && first == nil:
				first = fmt.Errorf("archiving %s: %w", l.Workflow, err)
				stop()
			case word != nil:
				written = append(written, word)
			}
		})
	}
	workers.Wait()
	return errors.Join(first, t.tell(ctx, written))
}

// weight is how many of the places of runs that are written a run takes.
func (a *Archiver) weight(l *archive.Log) int {
	if l.Bytes() > largeFrom || l.At > 0 && len(l.Pending) > 0 && (l.Closed || l.Rests) { // the whole of it is loaded
		return max(1, a.atOnce/large)
	}
	return 1
}

// write brings a run in the store up to date. word is what its planner is to be told; nil: it does not wait for it.
func (t *tenure) write(ctx context.Context, l *archive.Log) (word *kgo.Record, err error) {
	through := l.Through()
	if there, err := t.resolve(ctx, l); err != nil || !there {
		return nil, err
	}
	if err := t.append(ctx, l); err != nil {
		return nil, err
	}
	if err := t.snapshot(ctx, l); err != nil {
		return nil, err
	}
	if !l.Report || through.IsZero() {
		return nil, nil
	}
	m := &events.RunArchived{Run: l.Run, Through: through}
	return kafka.Keyed(t.a.names.Inbox(), []byte(l.Workflow), events.EncodeInbox(m), kafka.InboxFormat...), nil
}

// tell tells planners that their runs are archived.
func (t *tenure) tell(ctx context.Context, words []*kgo.Record) error {
	if len(words) == 0 {
		return nil
	}
	if err := t.a.step("report"); err != nil {
		return err
	}
	if err := t.a.deployment.Tell(ctx, words); err != nil {
		return fmt.Errorf("telling the planners of archived runs: %w", err)
	}
	t.a.metrics.archived.Add(float64(len(words)))
	return nil
}

// id is the log of a run.
func (t *tenure) id(l *archive.Log) string {
	return archive.RunID(archive.Run{Workflow: l.Workflow, Start: l.Run, Journal: t.a.journalName()})
}

// append writes the entries that are pending, in as many parts as a store takes.
func (t *tenure) append(ctx context.Context, l *archive.Log) error {
	id := t.id(l)
	l.Pending = behind(l.Pending, l.Last)
	left := l.Pending
	for len(left) > 0 {
		part := entriesOf(left)
		if err := t.a.step("append"); err != nil {
			return err
		}
		err := t.a.store.Append(ctx, id, l.At, t.epoch, part)
		var conflict *store.Conflict
		switch {
		case err == nil:
			l.At, l.Last = l.At+uint64(len(part)), left[len(part)-1].Position
			left = left[len(part):]
			t.a.metrics.entries.Add(float64(len(part)))
		case errors.As(err, &conflict) && conflict.Actual > l.At: // they were written before a fall
			last, err := t.a.lastOf(ctx, id, conflict.Actual)
			if err != nil {
				return err
			}
			l.At, l.Last = conflict.Actual, last
			left = behind(left, last)
		default:
			return err
		}
	}
	return nil
}

// entriesOf are as many of the next entries as one append takes; an entry is smaller than a record of the journal, and so
// than a batch.
func entriesOf(pending []archive.Entry) [][]byte {
	var part [][]byte
	size := 0
	for _, e := range pending {
		if size += len(e.Data); len(part) > 0 && size > store.MaxBatch || len(part) == store.MaxEntries {
			break
		}
		part = append(part, e.Data)
	}
	return part
}

// behind are the entries behind a position.
func behind(pending []archive.Entry, last events.Position) []archive.Entry {
	i := slices.IndexFunc(pending, func(e archive.Entry) bool { return last.Before(e.Position) })
	if i < 0 {
		return nil
	}
	return pending[i:]
}

// lastOf is the position of the last of so many entries of a log.
func (a *Archiver) lastOf(ctx context.Context, id string, entries uint64) (events.Position, error) {
	if entries == 0 {
		return events.Position{}, nil
	}
	log, err := a.store.Load(ctx, id, entries-1)
	if err != nil {
		return events.Position{}, err
	}
	if len(log.Entries) == 0 {
		return events.Position{}, fmt.Errorf("the log %q has lost its entry %d", id, entries-1)
	}
	rec, err := archive.Decode(log.Entries[0])
	if err != nil {
		return events.Position{}, fmt.Errorf("the log %q, entry %d: %w", id, entries-1, err)
	}
	return rec.Position, nil
}
