package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/heddle-run/heddle/internal/journal"
)

// Snapshot is what one checkpoint writes to the changelog: the due keys with
// their values as of one moment. It is read in parts (Next), and what is known to
// be written becomes clean part by part (Wrote).
type Snapshot struct {
	// Applied guards the partition's keys in the changelog: the first mark of the
	// checkpoint's marker.
	Applied journal.Mark

	store  *Store
	values *pebble.Snapshot
	groups []*dirtyGroup  // the partition's own first, then by owner
	needs  []journal.Mark // what the workflows from a group on need, and those that are not part of this (C1)
	wrote  int            // groups that are in the changelog

	it     *pebble.Iterator // nil: nothing is read yet
	window []dueRow         // rows that are read
	at     int              // in window: the row to give next
	next   int              // the group to read next, or to go on with
	lasts  []op             // of that group, if it is begun
	placed int              // in lasts: the row to read next
	whole  int              // bytes of all rows of that group
	alone  int              // 1 + the group that is given in pieces; 0: none
}

// Due takes a snapshot of all dirty keys of the partition itself and of the
// dirty workflows that are selected. One snapshot at a time: Done comes before
// the next.
func (s *Store) Due(selected func(workflow string, d Dirty) bool) *Snapshot {
	if s.dirty.snapshot != nil {
		panic("store: the last snapshot is not done")
	}
	sn := &Snapshot{Applied: s.metadata.Applied, store: s}
	from := s.metadata.Applied
	for owner, g := range s.dirty.groups {
		if owner == "" || selected(owner, Dirty{Since: g.since, Bytes: g.volume}) {
			sn.groups = append(sn.groups, g)
			continue
		}
		s.dirty.drop(g) // it may stay dirty for long
		if g.since.Before(from) {
			from = g.since
		}
	}
	slices.SortFunc(sn.groups, func(a, b *dirtyGroup) int { return strings.Compare(a.owner, b.owner) })
	sn.take(from)
	sn.values = s.db.NewSnapshot()
	s.dirty.snapshot = sn
	return sn
}

// take takes the changes of the selected groups; what is left out needs the
// journal behind from.
func (sn *Snapshot) take(from journal.Mark) {
	d := sn.store.dirty
	sn.needs = make([]journal.Mark, len(sn.groups)+1)
	sn.needs[len(sn.groups)] = from
	for i, g := range slices.Backward(sn.groups) {
		if g.owner != "" && g.since.Before(from) {
			from = g.since
		}
		sn.needs[i] = from
		g.taken = &taken{since: g.since, entry: g.entry, ops: g.ops, values: g.values, volume: g.volume}
		d.drop(g)
		g.ops, g.folded, g.volume, g.least, g.entry = nil, 0, 0, 0, 0
	}
}

// Owners is how many owners the snapshot covers: workflows, and the partition
// itself if it has changes.
func (sn *Snapshot) Owners() int { return len(sn.groups) }

// ReplayFrom is what the workflows need that are dirty and not among the first so
// many owners: the second mark of the marker, once those are written.
func (sn *Snapshot) ReplayFrom(owners int) journal.Mark { return sn.needs[owners] }

// Wrote says, on the store's goroutine, that the first so many owners are known
// to be in the changelog: what the snapshot covers of them is clean unless it
// changed since.
func (sn *Snapshot) Wrote(owners int) error {
	s := sn.store
	if owners <= sn.wrote && owners < len(sn.groups) {
		return nil
	}
	for _, g := range sn.groups[sn.wrote:owners] {
		s.dirty.settle(g, true)
	}
	sn.wrote = owners
	if err := s.clean(sn.Applied); err != nil {
		return fmt.Errorf("noting what a checkpoint wrote: %w", err)
	}
	return nil
}

// Done ends the snapshot on the store's goroutine. What is not known to be written
// stays dirty.
func (sn *Snapshot) Done() error {
	s := sn.store
	s.dirty.snapshot = nil
	for _, g := range sn.groups[sn.wrote:] {
		s.dirty.settle(g, false)
	}
	if err := sn.close(); err != nil {
		return fmt.Errorf("ending a snapshot: %w", err)
	}
	return nil
}

// close gives up what the snapshot holds of the database.
func (sn *Snapshot) close() error {
	var err error
	if sn.it != nil {
		err = sn.it.Close()
	}
	sn.store.dirty.iterator.reset()
	return errors.Join(err, sn.values.Close())
}

// settle ends what a snapshot took from a group.
func (d *dirtySet) settle(g *dirtyGroup, committed bool) {
	t := g.taken
	g.taken = nil
	if committed {
		d.bytes -= len(t.ops)
		d.volume -= t.volume
		d.recycle(t.values)
	} else {
		// The changelog may hold what the checkpoint wrote: nothing that it
		// covers may be forgotten as born since.
		d.drop(g)
		kept := append(t.ops.demote(), g.ops...)
		d.bytes += len(kept) - len(g.ops) - len(t.ops)
		g.since, g.entry, g.ops = t.since, t.entry, kept
		g.volume += t.volume
	}
	d.forget(g)
}

// clean notes a committed checkpoint.
func (s *Store) clean(checkpoint journal.Mark) error {
	b := s.db.NewBatch()
	defer b.Close()
	m := s.metadata
	m.Checkpoint = checkpoint
	if err := s.setMetadata(b, m); err != nil {
		return err
	}
	if err := s.trim(b); err != nil {
		return err
	}
	return s.apply(b, "noting a checkpoint")
}
