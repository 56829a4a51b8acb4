package store

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/rows"
)

// pending is one change of one record.
type pending struct {
	entry  *entry
	row    rows.Row
	record uint64
}

// batch is the changes of some records, one per key. Those of a workflow stand
// together: their keys are near each other in the store's tables, and what is
// noted of the workflow is noted once.
type batch struct {
	changes []Change
	members []*entry // the entries of changes
	upto    uint64   // the record that it reaches to

	found  []found // one per key, in the order of their first change
	groups []*group
}

// found is an entry that has a change, and its row as of the last of them.
type found struct {
	entry *entry
	row   rows.Row
	next  int32 // 1 + place of the next one of its group; 0: none
}

// note notes a change.
func (b *batch) note(p *pending) {
	if at := p.entry.slot; at > 0 {
		b.found[at-1].row = p.row
		return
	}
	b.found = append(b.found, found{entry: p.entry, row: p.row})
	at, g := int32(len(b.found)), p.entry.group
	p.entry.slot = at
	if g.newest == 0 {
		g.oldest = at
		b.groups = append(b.groups, g)
	} else {
		b.found[g.newest-1].next = at
	}
	g.newest = at
}

// arrange lists what was noted by group.
func (b *batch) arrange() {
	for _, g := range b.groups {
		for at := g.oldest; at > 0; at = b.found[at-1].next {
			f := &b.found[at-1]
			b.changes = append(b.changes, Change{Key: f.entry.key, Row: f.row, New: f.entry.stored == absent})
			b.members = append(b.members, f.entry)
			f.entry.slot = 0
		}
		g.oldest, g.newest = 0, 0
	}
	clear(b.groups)
	clear(b.found)
	b.groups, b.found = b.groups[:0], b.found[:0]
}

// reset forgets the changes; what they refer to is not kept.
func (b *batch) reset() {
	clear(b.changes)
	clear(b.members)
	b.changes, b.members = b.changes[:0], b.members[:0]
}

// Unwritten are the changes of all records up to the given one that are not in
// the store, one per key, those of a workflow together: for Store.Commit. The
// slice is valid until the next call.
func (c *Cache) Unwritten(record uint64) []Change {
	c.batch.reset()
	c.batch.upto = record
	for i := c.head; i < len(c.pending) && c.pending[i].record <= record; i++ {
		c.batch.note(&c.pending[i])
	}
	c.batch.arrange()
	return c.batch.changes
}

// Written says that what Unwritten returned for this record is in the store.
func (c *Cache) Written(record uint64) {
	if record != c.batch.upto {
		panic(fmt.Sprintf("store: written up to record %d, but asked for up to %d", record, c.batch.upto))
	}
	for ; c.head < len(c.pending) && c.pending[c.head].record <= record; c.head++ {
		p := &c.pending[c.head]
		p.entry.pins--
		p.entry.group.pins--
		*p = pending{}
	}
	for i, e := range c.batch.members {
		c.settle(e, &c.batch.changes[i])
	}
	c.batch.reset()
	c.shift()
	c.evict()
}

// settle notes that the store now has what a change says.
func (c *Cache) settle(e *entry, change *Change) {
	e.stored = present
	if change.Row == nil {
		e.stored = absent
	}
	if e.pins > 0 {
		return // changed again since
	}
	c.clean += int64(e.size) // as if it had been clean, for account and remove
	if e.row == nil {
		c.remove(e)
		return
	}
	c.account(e.group, e, change.size)
}

// shift moves the pending changes to the front of their slice when most of it
// is done with.
func (c *Cache) shift() {
	if c.head == len(c.pending) {
		c.pending, c.head = c.pending[:0], 0
	} else if c.head > len(c.pending)/2 {
		n := copy(c.pending, c.pending[c.head:])
		clear(c.pending[n:])
		c.pending, c.head = c.pending[:n], 0
	}
}
