package archiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/shared/events"
)

// snapshot says in the store what a run comes to: of one that is over or at rest what its planner would say, of others as much as
// is known without folding them, when that has changed.
func (t *tenure) snapshot(ctx context.Context, l *archive.Log) error {
	whole := l.Closed || l.Rests
	if !whole && l.Saved == l.Status || l.At == 0 || l.Stale() {
		return nil
	}
	s, sum, err := t.deleted(ctx, l)
	if err == nil && s == nil {
		s, sum, err = t.short(ctx, l, whole)
	}
	if err != nil {
		return err
	}
	if s.Summary, err = json.Marshal(sum); err != nil {
		return err
	}
	data, err := s.Encode()
	if err != nil {
		return err
	}
	if len(data) > store.MaxSnapshot { // results of a size that no store takes: the entries have them
		s.Results, s.Why = nil, fmt.Sprintf("the results have %d bytes and are in the entries only", len(s.Results))
		if data, err = s.Encode(); err != nil {
			return err
		}
	}
	if err := t.a.step("snapshot"); err != nil {
		return err
	}
	err = t.a.store.SaveSnapshot(ctx, t.id(l), t.epoch, store.Snapshot{At: l.At, Labels: s.Labels(sum), Data: data})
	if err != nil {
		return fmt.Errorf("saving its snapshot: %w", err)
	}
	l.Saved = l.Status
	return nil
}

// deleted is what the store has of a run of which nothing is new but that it is deleted; nil: there is more.
func (t *tenure) deleted(ctx context.Context, l *archive.Log) (*archive.Snapshot, *events.Summary, error) {
	if !l.Deleted || len(l.Pending) > 0 {
		return nil, nil, nil
	}
	s, at, err := t.a.loadSnapshot(ctx, t.id(l))
	if err != nil || s == nil || at != l.At || !s.Over {
		return nil, nil, err
	}
	var sum events.Summary
	if err := json.Unmarshal(s.Summary, &sum); err != nil {
		return nil, nil, err
	}
	s.Deleted = true
	return s, &sum, nil
}

// short is a run in short.
func (t *tenure) short(ctx context.Context, l *archive.Log, whole bool) (*archive.Snapshot, *events.Summary, error) {
	s := &archive.Snapshot{Over: l.Closed, Deleted: l.Deleted, Lacks: l.Lacks}
	switch {
	case whole && l.Lacks:
		w, err := t.a.askPlanner(ctx, l.Workflow)
		if err != nil {
			return nil, nil, err
		}
		s.Why = w.why
		if w.sum != nil && w.sum.Run == l.Run {
			s.Results, s.Whole = w.results, true
			return s, w.sum, nil
		}
		if w.sum != nil || w.why == "" {
			s.Why = "it was deleted before its planner could be asked"
		}
	case whole:
		sum, results, err := t.fold(ctx, l)
		if err == nil {
			s.Results, s.Whole = results, true
			return s, sum, nil
		}
		var broken *foldError
		if !errors.As(err, &broken) {
			return nil, nil, err
		}
		t.a.metrics.unfolded.Inc()
		t.a.logger.Error("a run is archived whose entries cannot be folded", "workflow", l.Workflow, "run", l.Run.String(), "error", err)
		s.Why = err.Error()
	}
	sum, err := t.known(ctx, l)
	return s, sum, err
}

// known is the summary of a run as far as it is known without folding it: what the store has, brought up to date.
func (t *tenure) known(ctx context.Context, l *archive.Log) (*events.Summary, error) {
	sum := l.Known(t.partition)
	if l.Started != nil {
		return &sum, nil
	}
	before, _, err := t.a.loadSnapshot(ctx, t.id(l))
	if err != nil || before == nil {
		return &sum, err
	}
	var old events.Summary
	if err := json.Unmarshal(before.Summary, &old); err != nil {
		return nil, err
	}
	old.Status, old.Updated = sum.Status, sum.Updated
	return &old, nil
}

// foldError is about the entries, not about the store.
type foldError struct{ err error }

func (e *foldError) Error() string { return e.err.Error() }
func (e *foldError) Unwrap() error { return e.err }

// fold makes of the entries what the planner would say of the run.
func (t *tenure) fold(ctx context.Context, l *archive.Log) (*events.Summary, json.RawMessage, error) {
	id := t.id(l)
	g := t.folded(id)
	if g == nil {
		g = &folding{id: id, fold: t.folder.Begin(l.Workflow)}
	}
	if err := t.catchUp(ctx, g, l); err != nil {
		return nil, nil, err
	}
	t.folding.Lock()
	defer t.folding.Unlock()
	sum, results, err := g.fold.Outcome()
	if err != nil {
		return nil, nil, &foldError{err}
	}
	if !l.Closed {
		t.folds.put(g)
	}
	return &sum, results, nil
}

func (t *tenure) folded(id string) *folding {
	t.folding.Lock()
	defer t.folding.Unlock()
	return t.folds.take(id)
}

// catchUp folds the entries of a run that are not folded: those that have just been written, or where there are more what the store
// has.
func (t *tenure) catchUp(ctx context.Context, g *folding, l *archive.Log) error {
	if n := l.At - g.entries; n <= uint64(len(l.Pending)) {
		fresh := l.Pending[uint64(len(l.Pending))-n:]
		for i := range fresh {
			rec, err := fresh[i].Record()
			if err := t.add(ctx, g, rec, len(fresh[i].Data), err); err != nil {
				return err
			}
		}
		return nil
	}
	for data, err := range store.Entries(ctx, t.a.store, g.id, g.entries) {
		if err != nil {
			return err
		}
		rec, err := archive.Decode(data)
		if err := t.add(ctx, g, rec, len(data), err); err != nil {
			return err
		}
	}
	return nil
}

// add folds an entry, if it can be decoded.
func (t *tenure) add(ctx context.Context, g *folding, rec *events.Record, size int, err error) error {
	if err != nil {
		return &foldError{err}
	}
	with, err := t.a.definitionsOf(ctx, rec)
	if err != nil {
		return err
	}
	t.folding.Lock()
	defer t.folding.Unlock()
	if err := g.fold.Add(rec, with); err != nil {
		return &foldError{err}
	}
	g.entries, g.bytes = g.entries+1, g.bytes+size
	return nil
}

// mostKnown is how many definitions are at hand.
const mostKnown = 256

// known are definitions that were needed before.
type known struct {
	mu   sync.Mutex
	text map[string][]byte
}

func newKnown() *known { return &known{text: map[string][]byte{}} }

func (k *known) get(digest string) ([]byte, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	b, ok := k.text[digest]
	return b, ok
}

func (k *known) put(digest string, text []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.text) >= mostKnown {
		clear(k.text)
	}
	k.text[digest] = text
}

// definitionsOf finds the definitions that an entry needs: in the archive, else among those that are registered.
func (a *Archiver) definitionsOf(ctx context.Context, rec *events.Record) (func(string) ([]byte, bool), error) {
	found := map[string][]byte{}
	for _, digest := range archive.Needs(rec) {
		text, ok := a.known.get(digest)
		if !ok {
			log, err := a.store.Load(ctx, archive.DefinitionID(digest), 0)
			if err != nil {
				return nil, err
			}
			if len(log.Entries) > 0 {
				text, ok = log.Entries[0], true
			} else if text, ok = a.deployment.Canonical(digest); ok {
				if err := a.saveDefinition(ctx, archive.Definition{Digest: digest, Canonical: text}); err != nil {
					return nil, err
				}
			}
		}
		if ok {
			a.known.put(digest, text)
			found[digest] = text
		}
	}
	return func(digest string) ([]byte, bool) { b, ok := found[digest]; return b, ok }, nil
}
