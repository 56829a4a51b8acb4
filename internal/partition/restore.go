package partition

import (
	"bytes"
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/store"
)

// openStore opens a store that is proven, or makes one from the changelog (O4).
// On a full disk that waits for room: what is there may be proven yet.
func (r *reign) openStore(ctx context.Context) error {
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
			return &BlockedError{fmt.Sprintf("the journal ends at offset %d, before offset %d that the store of this planner holds: restore the journal, or give up what is missing by removing the store", r.span.End, r.known-1)}
		}
		if why == "" {
			return r.adopt(r.store.Marks().Extra)
		}
		r.o.logger.Info("the store is not used again", "reason", why)
		if err := s.Close(); err != nil {
			r.o.logger.Warn("closing a discarded store", "error", err)
		}
		r.store = nil
	}
	if store.IsFull(err) {
		return needsRoom(err)
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
func (r *reign) prove(ctx context.Context) (why string, err error) {
	m := r.store.Marks()
	if r.host.Flaws.AnyStore && m.Complete {
		return "", nil
	}
	switch {
	case !m.Complete:
		return "it was never restored to its end", nil
	case m.Cluster != r.id.cluster:
		return "it is of another cluster", nil
	case !bytes.Equal(m.Topic[:], r.id.journal):
		return "it is of another journal", nil
	}
	if m.Applied.Offset >= r.span.End && !m.Applied.IsZero() {
		r.known = m.Applied.Offset + 1
	}
	return r.host.reader.Prove(ctx, r.o.p, m.Checkpoint, m.Applied)
}

// restore fills a new store from the changelog; without a checkpoint it is
// empty and the whole journal is replayed.
func (r *reign) restore(ctx context.Context) error {
	topic := r.host.names.State()
	s, err := r.read.spanOf(ctx, topic, r.o.p)
	if err != nil {
		return err
	}
	var found []byte
	restorer := r.store.Restorer()
	mark := markerKey.Append(nil)
	err = r.read.read(ctx, topic, r.o.p, s.Start, s.End, func(k *kgo.Record) error {
		if bytes.Equal(k.Key, mark) {
			found = k.Value
			return nil
		}
		return restorer.Put(k.Key, k.Value)
	})
	if err != nil {
		return err
	}
	m := &marker{Topic: r.id.journal}
	if found != nil {
		if m, err = decodeMarker(found); err != nil {
			return err
		}
	}
	if err := r.fits(m, found != nil); err != nil {
		return err
	}
	marks := store.Marks{
		Cluster: r.id.cluster, Guard: m.Applied, Applied: m.ReplayFrom, Checkpoint: m.ReplayFrom, Extra: encodeMarker(m),
	}
	copy(marks.Topic[:], m.Topic)
	if err := restorer.Finish(marks); err != nil {
		return err
	}
	return r.adopt(marks.Extra)
}

// fits says whether the journal holds what the changelog rests on. What is
// missing is never made up: an operator decides.
func (r *reign) fits(m *marker, found bool) error {
	known := int64(0)
	if !m.Applied.IsZero() {
		known = m.Applied.Offset + 1
	}
	switch {
	case found && !bytes.Equal(m.Topic, r.id.journal):
		return &BlockedError{"the journal topic was made anew: its checkpoint is of another one"}
	case r.span.End < known:
		return &BlockedError{fmt.Sprintf("the journal ends at offset %d, before a known position: offset %d", r.span.End, known)}
	case !found && r.span.Start > 0:
		return &BlockedError{fmt.Sprintf("the journal begins at offset %d and there is no checkpoint of what was before", r.span.Start)}
	case found && !m.ReplayFrom.IsZero() && m.ReplayFrom.Offset+1 < r.span.Start:
		return &BlockedError{fmt.Sprintf("the journal begins at offset %d, behind what the last checkpoint needs: offset %d", r.span.Start, m.ReplayFrom.Offset+1)}
	}
	return nil
}

// adopt takes over what the store keeps about the last checkpoint.
func (r *reign) adopt(extra []byte) error {
	m := &marker{}
	if len(extra) > 0 {
		var err error
		if m, err = decodeMarker(extra); err != nil {
			return err
		}
	}
	r.epochs = m.Epochs
	r.check.cursors, r.check.at = m.Cursors, m.Applied.Position
	return nil
}

// saveEpochs keeps the epoch chain with the store, before the record that began
// the newest one is part of it.
func (r *reign) saveEpochs() error {
	m := r.store.Marks()
	kept := &marker{}
	if len(m.Extra) > 0 {
		var err error
		if kept, err = decodeMarker(m.Extra); err != nil {
			return err
		}
	}
	kept.Epochs = r.epochs
	m.Extra = encodeMarker(kept)
	return r.store.SetMarks(m)
}
