package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/rows"
)

// Snapshot is what one checkpoint writes to the changelog: the due keys with
// their values as of one moment.
type Snapshot struct {
	// Applied guards the partition's keys in the changelog, ReplayFrom is what
	// the workflows need that are dirty and not part of this: the two marks of
	// the checkpoint's marker (C1).
	Applied, ReplayFrom journal.Mark

	store  *Store
	values *pebble.Snapshot
	groups []*dirtyGroup // by owner, the partition's own keys last
}

// Due takes a snapshot of all dirty keys of the partition itself and of the
// dirty workflows that are selected. One snapshot at a time: Done comes before
// the next.
func (s *Store) Due(selected func(workflow string, d Dirty) bool) *Snapshot {
	if s.dirty.snapshot != nil {
		panic("store: the last snapshot is not done")
	}
	sn := &Snapshot{Applied: s.marks.Applied, ReplayFrom: s.marks.Applied, store: s}
	for owner, g := range s.dirty.groups {
		if owner == "" || selected(owner, Dirty{Since: g.since, Bytes: len(g.ops)}) {
			sn.groups = append(sn.groups, g)
			continue
		}
		s.dirty.drop(g) // it may stay dirty for long
		if g.since.Before(sn.ReplayFrom) {
			sn.ReplayFrom = g.since
		}
	}
	slices.SortFunc(sn.groups, func(a, b *dirtyGroup) int {
		if a.owner == "" || b.owner == "" {
			return len(b.owner) - len(a.owner)
		}
		return strings.Compare(a.owner, b.owner)
	})
	for _, g := range sn.groups {
		g.taken = &taken{since: g.since, entry: g.entry, ops: g.ops, values: g.values}
		s.dirty.bytes -= len(g.ops)
		s.dirty.drop(g)
		g.ops, g.folded, g.entry = nil, 0, 0
	}
	sn.values = s.db.NewSnapshot()
	s.dirty.snapshot = sn
	return sn
}

// Owners is how many workflows the snapshot covers, the partition itself included.
func (sn *Snapshot) Owners() int { return len(sn.groups) }

// Each visits every due key with its row as it stands in the store; nil is a
// tombstone. Keys come by workflow, those of the partition itself (workflow "")
// last, so that a checkpoint may be split between workflows. Keys and values are
// valid until Done. It may run on another goroutine than the store's, and again
// after an error.
func (sn *Snapshot) Each(visit func(workflow string, key, value []byte) error) error {
	it, err := sn.values.NewIter(&pebble.IterOptions{UpperBound: []byte{byte(rows.Mark)}})
	if err != nil {
		return fmt.Errorf("reading a snapshot: %w", err)
	}
	r := &sn.store.dirty.reader
	for rest := sn.groups; err == nil && len(rest) > 0; {
		if rest, err = r.read(it, rest); err != nil {
			err = fmt.Errorf("reading a snapshot: %w", err)
		}
		for i := 0; err == nil && i < len(r.due); i++ {
			err = visit(r.due[i].owner, r.due[i].key, r.due[i].value)
		}
	}
	r.reset()
	if closing := it.Close(); closing != nil {
		err = errors.Join(err, fmt.Errorf("reading a snapshot: %w", closing))
	}
	return err
}

// Done ends the snapshot on the store's goroutine. If its checkpoint is known to
// be committed, what it covers is clean unless changed since; if not, or if that
// is not known, it all stays dirty.
func (sn *Snapshot) Done(committed bool) error {
	s := sn.store
	s.dirty.snapshot = nil
	err := sn.values.Close()
	for _, g := range sn.groups {
		s.dirty.settle(g, committed)
	}
	if err == nil && committed {
		err = s.clean(sn.Applied)
	}
	if err != nil {
		return fmt.Errorf("ending a snapshot: %w", err)
	}
	return nil
}

// settle ends what a snapshot took from a group.
func (d *dirtySet) settle(g *dirtyGroup, committed bool) {
	t := g.taken
	g.taken = nil
	if committed {
		d.recycle(t.values)
	} else {
		// The changelog may hold what the checkpoint wrote: nothing that it
		// covers may be forgotten as born since.
		d.drop(g)
		kept := append(t.ops.demote(), g.ops...)
		d.bytes += len(kept) - len(g.ops)
		g.since, g.entry, g.ops = t.since, t.entry, kept
	}
	d.forget(g)
}

// clean notes a committed checkpoint.
func (s *Store) clean(checkpoint journal.Mark) error {
	b := s.db.NewBatch()
	defer b.Close()
	m := s.marks
	m.Checkpoint = checkpoint
	if err := s.setMarks(b, m); err != nil {
		return err
	}
	if err := s.trim(b); err != nil {
		return err
	}
	return s.apply(b, "noting a checkpoint")
}
