package store

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/heddle-run/heddle/shared/rows"
)

// DueRow is one row of a snapshot; a nil value is a tombstone.
type DueRow struct {
	Owner      string
	Key, Value []byte
}

// Part is some rows of a snapshot, in the order of their owners.
type Part struct {
	Rows   []DueRow // valid until the next one is asked for
	Owners int      // so many of the snapshot's owners, from the first on, are given whole
	Bytes  int      // of the rows
	Piece  bool     // the rows are a piece of those of one owner, which do not fit into one part
	Ends   bool     // of pieces: the last
}

// dueRow is a row that was read ahead.
type dueRow struct {
	DueRow
	group       int
	first, last bool // of its owner's rows
	whole       int  // bytes of all rows of its owner
}

func (r *dueRow) size() int { return len(r.Key) + len(r.Value) }

const (
	// dueAtOnce is how many rows are read in the order of their keys before they
	// are given in the order of their owners: blocks are read once, not once per
	// row. dueBytes bounds what they hold.
	dueAtOnce = 8192
	dueBytes  = 4 << 20

	// mostDue bounds the room that is kept.
	mostDue = 2 * dueAtOnce

	// keyChunk is what keys are made in.
	keyChunk = 16 << 10
)

// dueIterator is room for the rows of a snapshot. It belongs to the snapshot in
// flight, of which there is one at a time, and is used again for the next.
type dueIterator struct {
	rows   []dueRow // that are read ahead
	unread []int    // places in rows whose values were not kept
	room   []op
	keys   []byte
	part   []DueRow
}

// key makes the full key of a row; it stays valid.
func (r *dueIterator) key(owner string, key []byte) ([]byte, error) {
	if need := len(owner) + len(key) + 1; cap(r.keys)-len(r.keys) < need {
		r.keys = make([]byte, 0, max(keyChunk, need))
	}
	from := len(r.keys)
	var err error
	r.keys, err = fullKey(r.keys, owner, key)
	return r.keys[from:len(r.keys):len(r.keys)], err
}

// reset forgets the rows.
func (r *dueIterator) reset() {
	clear(r.rows[:cap(r.rows)])
	clear(r.room[:cap(r.room)])
	clear(r.part[:cap(r.part)])
	r.keys = nil
	if cap(r.rows) > mostDue || cap(r.room) > mostDue {
		*r = dueIterator{}
	}
}

// Next gives the next rows: those of whole owners, as long as they fit into limit
// bytes, or, of an owner that does not fit by itself, a piece of at least one row.
// A part without rows and owners is the end. It may run on another goroutine than
// the store's; what it gives is valid until the next call or Done.
func (sn *Snapshot) Next(limit int) (Part, error) {
	r := &sn.store.dirty.iterator
	clear(r.part)
	p := Part{Rows: r.part[:0], Owners: sn.given()}
	for {
		row, err := sn.row()
		if err != nil {
			return Part{}, fmt.Errorf("reading a snapshot: %w", err)
		}
		if row == nil {
			p.Owners = len(sn.groups)
			break
		}
		if row.first && row.whole > limit && len(p.Rows) == 0 {
			sn.alone = 1 + row.group
		}
		p.Piece = sn.alone == 1+row.group
		size := row.size()
		if p.Piece {
			if len(p.Rows) > 0 && p.Bytes+size > limit {
				break
			}
		} else if row.first && len(p.Rows) > 0 && p.Bytes+row.whole > limit {
			break
		}
		p.Rows = append(p.Rows, row.DueRow)
		p.Bytes += size
		sn.at++
		if row.last {
			p.Owners = row.group + 1
			if p.Piece {
				p.Ends, sn.alone = true, 0
				break
			}
		}
	}
	r.part = p.Rows
	return p, nil
}

// given is how many owners are given whole.
func (sn *Snapshot) given() int {
	if sn.at < len(sn.window) {
		return sn.window[sn.at].group
	}
	return sn.next
}

// Again goes back to the first row of an owner whose pieces were given, of which
// so many stand before it: they are given once more, in pieces.
func (sn *Snapshot) Again(owners int) {
	sn.window, sn.at = sn.window[:0], 0
	sn.next, sn.lasts, sn.placed = owners, nil, 0
	sn.alone = 1 + owners
}

// row is the row to give next; nil at the end.
func (sn *Snapshot) row() (*dueRow, error) {
	if sn.at == len(sn.window) {
		if err := sn.readAhead(); err != nil {
			return nil, err
		}
		if len(sn.window) == 0 {
			return nil, nil
		}
	}
	return &sn.window[sn.at], nil
}

// readAhead fills the window.
func (sn *Snapshot) readAhead() error {
	r := &sn.store.dirty.iterator
	sn.window, sn.at = r.rows[:0], 0
	r.unread = r.unread[:0]
	held := 0
	for sn.next < len(sn.groups) && len(sn.window) < dueAtOnce && held < dueBytes {
		if sn.lasts == nil {
			sn.open(r)
		}
		for sn.placed < len(sn.lasts) && len(sn.window) < dueAtOnce && held < dueBytes {
			n, err := sn.place(r)
			if err != nil {
				return err
			}
			held += n
		}
		if sn.placed == len(sn.lasts) {
			sn.next, sn.lasts, sn.placed = sn.next+1, nil, 0
		}
	}
	r.rows = sn.window
	return sn.readValues(r)
}

// open begins with the rows of the next group.
func (sn *Snapshot) open(r *dueIterator) {
	g := sn.groups[sn.next]
	r.room = g.taken.ops.lasts(r.room[:0])
	sn.lasts, sn.placed, sn.whole = r.room, 0, 0
	for i := range sn.lasts {
		sn.whole += sn.lasts[i].bytes() + len(g.owner)
	}
}

// place puts the next row of the group into the window, with the value if it was
// kept, and returns its size.
func (sn *Snapshot) place(r *dueIterator) (int, error) {
	g, last := sn.groups[sn.next], &sn.lasts[sn.placed]
	key, err := r.key(g.owner, last.key)
	if err != nil {
		return 0, err
	}
	row := dueRow{DueRow: DueRow{Owner: g.owner, Key: key}, group: sn.next, whole: sn.whole}
	row.first, row.last = sn.placed == 0, sn.placed == len(sn.lasts)-1
	switch kept := &g.taken.values; {
	case !kept.some():
		r.unread = append(r.unread, len(sn.window))
	case last.kind != died:
		row.Value = kept.at(last.turn)
	}
	sn.window = append(sn.window, row)
	sn.placed++
	return last.bytes(), nil
}

// readValues reads the values that were not kept, in the order of their keys.
func (sn *Snapshot) readValues(r *dueIterator) error {
	if len(r.unread) == 0 {
		return nil
	}
	if sn.it == nil {
		var err error
		if sn.it, err = sn.values.NewIter(&pebble.IterOptions{UpperBound: []byte{byte(rows.Metadata)}}); err != nil {
			return err
		}
	}
	slices.SortFunc(r.unread, func(a, b int) int { return bytes.Compare(sn.window[a].Key, sn.window[b].Key) })
	for _, i := range r.unread {
		row := &sn.window[i]
		if sn.it.SeekGE(row.Key) && bytes.Equal(sn.it.Key(), row.Key) {
			row.Value = append(make([]byte, 0, len(sn.it.Value())), sn.it.Value()...)
		}
	}
	return sn.it.Error()
}
