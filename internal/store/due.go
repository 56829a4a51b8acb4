package store

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// dueRow is one row of a snapshot; a nil value is a tombstone.
type dueRow struct {
	owner      string
	key, value []byte
}

// dueReader makes the rows of a snapshot. It belongs to the snapshot in flight,
// of which there is one at a time; its room is used again for the next.
type dueReader struct {
	due    []dueRow
	unread []int // places in due of rows whose values were not kept
	room   []op
}

const (
	// dueAtOnce is how many rows are read in the order of their keys before they
	// are visited in the order of their owners: blocks are read once, not once
	// per row.
	dueAtOnce = 8192

	// mostDue bounds the room that is kept.
	mostDue = 2 * dueAtOnce

	// usualKey is the size of most keys without their workflow.
	usualKey = 8
)

// read makes the due rows of the first groups, and returns the other groups.
func (r *dueReader) read(it *pebble.Iterator, groups []*dirtyGroup) ([]*dirtyGroup, error) {
	r.due, r.unread = r.due[:0], r.unread[:0]
	for len(groups) > 0 && len(r.due) < dueAtOnce {
		if err := r.add(groups[0]); err != nil {
			return nil, err
		}
		groups = groups[1:]
	}
	slices.SortFunc(r.unread, func(a, b int) int { return bytes.Compare(r.due[a].key, r.due[b].key) })
	for _, i := range r.unread {
		row := &r.due[i]
		if it.SeekGE(row.key) && bytes.Equal(it.Key(), row.key) {
			row.value = append(make([]byte, 0, len(it.Value())), it.Value()...)
		}
	}
	return groups, it.Error()
}

// add adds the rows that the snapshot took from a group, with the values that
// were kept.
func (r *dueReader) add(g *dirtyGroup) error {
	kept := &g.taken.values
	r.room = g.taken.ops.lasts(r.room[:0])
	keys := make([]byte, 0, len(r.room)*(len(g.owner)+usualKey))
	for _, last := range r.room {
		from := len(keys)
		var err error
		if keys, err = fullKey(keys, g.owner, last.key); err != nil {
			return err
		}
		row := dueRow{owner: g.owner, key: keys[from:len(keys):len(keys)]}
		switch {
		case !kept.some():
			r.unread = append(r.unread, len(r.due))
		case last.kind != died:
			row.value = kept.at(last.turn)
		}
		r.due = append(r.due, row)
	}
	return nil
}

// reset forgets the rows.
func (r *dueReader) reset() {
	clear(r.due[:cap(r.due)])
	clear(r.room[:cap(r.room)])
	if cap(r.due) > mostDue {
		*r = dueReader{}
	}
}
