package partition

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/events"
)

// openStore opens a store that is proven, or makes one from the changelog (O4).
// On a full disk that waits for room: what is there may be proven yet.
func (r *tenure) openStore(ctx context.Context) error {
	opts := r.host.Store(r.o.p)
	opts.Broken = r.broken
	s, err := store.Open(opts)
	if err == nil {
		r.store = s
		why, err := r.prove(ctx)
		if err != nil {
			return err
		}
		if r.known > r.span.End {
			if why, err = r.outlived(ctx); err != nil {
				return err
			}
		}
		if why == "" {
			return r.reuse(ctx)
		}
		if r.store.Metadata().Complete { // nothing is thrown away where nothing can be restored
			m, err := r.changelog(ctx, func(_, _ []byte) error { return nil })
			if err == nil {
				err = r.fits(m)
			}
			if err != nil {
				return err
			}
		}
		r.o.logger.Info("the store is not used again", "reason", why)
		if err := s.Close(); err != nil {
			r.o.logger.Warn("closing a discarded store", "error", err)
		}
		r.store = nil
	}
	switch {
	case store.IsFull(err):
		return needsRoom(err)
	case errors.Is(err, store.ErrInUse), isLater(err): // what another process works on is not ours to wipe
		return err
	case err != nil:
		r.o.logger.Warn("the store cannot be opened, it is made again", "error", err)
	}
	if err := store.Discard(opts); err != nil {
		return err
	}
	if r.store, err = store.Open(opts); err != nil {
		return needsRoom(err)
	}
	return r.restore(ctx)
}

// needsRoom says of the error of a full disk what its owner does about it.
func needsRoom(err error) error {
	if store.IsFull(err) {
		return fmt.Errorf("waiting for room on the disk: %w", err)
	}
	return err
}

// prove reads the journal from the store's last checkpoint to its last applied
// record: anything void, missing or different says why it is not used (O4).
func (r *tenure) prove(ctx context.Context) (why string, err error) {
	m := r.store.Metadata()
	if r.host.Flaws.AnyStore.On() && m.Complete {
		return "", nil
	}
	switch {
	case !m.Complete:
		return "it was never restored to its end", nil
	case m.Cluster != r.id.Cluster:
		return "it is of another cluster", nil
	case !bytes.Equal(m.Topic[:], r.id.Journal):
		return "it is of another journal", nil
	}
	if m.Applied.IsZero() && r.span.Start > 0 {
		return fmt.Sprintf("it has nothing, and the journal begins at offset %d", r.span.Start), nil
	}
	kept, err := r.kept()
	if err != nil {
		return "", err
	}
	covered := int64(0)
	if kept.Applied.Position == m.Checkpoint.Position {
		covered = kept.covered()
	}
	if !m.Applied.IsZero() {
		r.known = max(m.Applied.Offset+1, covered)
	}
	return r.journal.Prove(ctx, r.o.p, m.Checkpoint, m.Applied, covered)
}

// kept is what the store keeps about the last checkpoint.
func (r *tenure) kept() (*marker, error) {
	extra := r.store.Metadata().Extra
	if len(extra) == 0 {
		return &marker{}, nil
	}
	return decodeMarker(extra)
}

// restore fills a new store from the changelog; without a checkpoint it is
// empty and the whole journal is replayed.
func (r *tenure) restore(ctx context.Context) error {
	restorer := r.store.Restorer()
	var chunks chunkCounts
	began, stats := time.Now(), r.host.Stats
	m, err := r.changelog(ctx, func(key, value []byte) error {
		stats.LoadBytes.Add(uint64(len(key) + len(value)))
		chunks.note(key, value)
		return r.skipStrays(restorer.Put(key, value))
	})
	if err != nil {
		return err
	}
	if err := r.fits(m); err != nil {
		return err
	}
	r.marker = m
	if m == nil {
		m = &marker{Topic: r.id.Journal}
	}
	metadata := store.Metadata{
		Cluster: r.id.Cluster, Guard: m.Applied, Applied: m.ReplayFrom, Checkpoint: m.ReplayFrom, Extra: encodeMarker(m),
	}
	copy(metadata.Topic[:], m.Topic)
	if err := restorer.Finish(metadata, m.Redos...); err != nil {
		return err
	}
	stats.Loads.Add(1)
	stats.LoadNanos.Add(uint64(time.Since(began)))
	r.check.redos = chunks.logs(m.Redos)
	return r.adopt()
}

// skipStrays passes over a record of the changelog that no checkpoint has written.
func (r *tenure) skipStrays(err error) error {
	var stray *store.StrayKeyError
	if !errors.As(err, &stray) {
		return err
	}
	r.host.Stats.Strays.Add(1)
	r.o.logger.Warn("a record of the changelog is skipped: no checkpoint writes such", "error", stray)
	return nil
}

// changelog visits the rows of the changelog and returns the newest marker; nil if
// there is none.
func (r *tenure) changelog(ctx context.Context, visit func(key, value []byte) error) (*marker, error) {
	topic := r.host.names.State()
	s, err := r.read.spanOf(ctx, topic, r.o.p)
	if err != nil {
		return nil, err
	}
	var found []byte
	marker := markerKey.Append(nil)
	err = r.read.read(ctx, topic, r.o.p, s.Start, s.End, func(k *kgo.Record) error {
		if err := kafka.CheckFormat(k, events.Version); err != nil {
			return err
		}
		if bytes.Equal(k.Key, marker) {
			found = k.Value
			return nil
		}
		return visit(k.Key, k.Value)
	})
	if err != nil || found == nil {
		return nil, err
	}
	return decodeMarker(found)
}

// fits reports whether the journal holds what the changelog rests on, by its newest
// marker or none. What is missing is never made up: an operator decides.
func (r *tenure) fits(m *marker) error {
	if m == nil {
		if r.span.Start > 0 {
			return r.journalLoss(0, r.span.End, fmt.Sprintf("begins at offset %d and there is no checkpoint of what was before", r.span.Start))
		}
		return nil
	}
	if !bytes.Equal(m.Topic, r.id.Journal) {
		return r.journalLoss(0, m.covered(), "was made anew: its checkpoint is of another one")
	}
	if err := r.journalReaches(m); err != nil {
		return err
	}
	if m.needs() < r.span.Start {
		return r.journalLoss(m.needs(), r.span.End, fmt.Sprintf("begins at offset %d, after what the last checkpoint needs: offset %d", r.span.Start, m.needs()))
	}
	return nil
}

// journalReaches refuses a journal that ends before what a marker knows of it.
func (r *tenure) journalReaches(m *marker) error {
	if m.covered() <= r.span.End {
		return nil
	}
	return r.journalLoss(m.needs(), m.covered(), fmt.Sprintf("ends at offset %d, before a known position: offset %d", r.span.End, m.covered()))
}

// reuse goes on with a proven store. Another owner may have written checkpoints
// since it was left: the newest one says how far inputs were read that left no
// record, and what the journal need not have any more, as its owner trims it (O4).
func (r *tenure) reuse(ctx context.Context) error {
	if err := r.adopt(); err != nil {
		return err
	}
	newest, err := r.newest(ctx)
	r.marker, r.reused = newest, true
	if err == nil {
		err = r.changelogReaches(newest)
	}
	if err != nil || newest == nil || !bytes.Equal(newest.Topic, r.id.Journal) {
		return err
	}
	r.check.redos.counts = newest.Redos
	if err := r.journalReaches(newest); err != nil {
		return err
	}
	r.check.cursors, r.check.at, r.check.covered = newest.Cursors, newest.Applied.Position, newest.covered()
	r.check.floor = newest.ReplayFrom
	return nil
}

// changelogReaches refuses a changelog that has lost the checkpoint that the store knows to
// be committed. Later ones would lack the rows that are lost with it, and nobody who
// restores from them would know.
func (r *tenure) changelogReaches(newest *marker) error {
	kept := r.check.at
	if kept.IsZero() || newest != nil && !newest.Applied.Position.Before(kept) {
		return nil
	}
	return &BlockedError{fmt.Sprintf("%s/%d lacks the checkpoint as of record %s, which the store of this planner knows to be committed: bring it back, or remove the store: the partition is restored from what is left then", r.host.names.State(), r.o.p, kept)}
}

// newest is the marker of the last checkpoint in the changelog, which is among the
// last records there; nil if there is none.
func (r *tenure) newest(ctx context.Context) (*marker, error) {
	m, _, err := r.stampedNewest(ctx)
	return m, err
}

// stampedNewest also says when it was written; Unix ms, 0 if there is none.
func (r *tenure) stampedNewest(ctx context.Context) (*marker, int64, error) {
	found, err := r.read.last(ctx, r.host.names.State(), r.o.p, markerKey.Append(nil))
	if err != nil || found == nil {
		return nil, 0, err
	}
	if err := kafka.CheckFormat(found, events.Version); err != nil {
		return nil, 0, err
	}
	m, err := decodeMarker(found.Value)
	return m, found.Timestamp.UnixMilli(), err
}

// adopt takes over what the store keeps about the last checkpoint.
func (r *tenure) adopt() error {
	m, err := r.kept()
	if err != nil {
		return err
	}
	r.epochs = m.Epochs
	if m.Applied.Position == r.store.Metadata().Applied.Position {
		r.covered = m.covered()
	}
	r.check.cursors, r.check.at, r.check.covered = m.Cursors, m.Applied.Position, m.covered()
	r.check.floor = m.ReplayFrom
	return nil
}

// saveEpochs keeps the epoch chain with the store, before the record that began
// the newest one is part of it.
func (r *tenure) saveEpochs() error {
	kept, err := r.kept()
	if err != nil {
		return err
	}
	kept.Epochs = r.epochs
	m := r.store.Metadata()
	m.Extra = encodeMarker(kept)
	return r.store.SetMetadata(m)
}
