package store

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/heddle-run/heddle/shared/rows"
)

// readAhead is how many rows a scan of a table that is consumed from the front
// reads beyond the one that it stopped at, so that the next ones need no
// iterator.
const readAhead = 64

// Scan implements rows.Source. The visitor may call Get, and Scan of other
// tables; it must not call Apply.
func (c *Cache) Scan(from rows.Key, fresh rows.Maker, visit func(rows.Key, rows.Row) bool) {
	t := c.group(&from).table(from.Table)
	c.scanning++
	defer func() {
		c.scanning--
		c.evict()
	}()
	if t.span.covers(&from) {
		hi := t.span.hi
		if !t.walk(&from, hi, visit) || hi == nil {
			c.hits++
			return
		}
		from = *hi
	}
	c.misses++
	if err := c.merge(t, from, fresh, visit); err != nil {
		panic(rows.Fault{Err: err})
	}
}

// walk visits the rows in memory from one key to another (nil: the end). It
// says false if the visitor did.
func (t *table) walk(from, to *rows.Key, visit func(rows.Key, rows.Row) bool) bool {
	chunk, i := t.seek(from)
	for {
		e := t.at(chunk, i)
		if e == nil || to != nil && compare(&e.key, to) >= 0 {
			return true
		}
		version := t.version
		e.used = true
		if e.row != nil && !visit(e.key, e.row) {
			return false
		}
		switch {
		case t.version != version: // the visitor made the cache read a row
			next := successor(e.key)
			chunk, i = t.seek(&next)
		case i >= len(t.chunks[chunk])-1:
			chunk, i = chunk+1, 0
		default:
			i++
		}
	}
}

// merge visits the store's rows from a key on, with the rows in memory in their
// place, and keeps what it reads.
func (c *Cache) merge(t *table, from rows.Key, fresh rows.Maker, visit func(rows.Key, rows.Row) bool) error {
	lower := from.Append(nil)
	it, err := c.store.iterate(lower, scanEnd(from))
	if err != nil {
		return err
	}
	end := ending{it: it}
	defer end.close()
	m := merging{cache: c, table: t, it: it, fresh: fresh, next: from}
	err = m.run(visit)
	if err == nil {
		m.learn(from)
	}
	return errors.Join(err, end.in(lower))
}

// merging is a scan over store and memory.
type merging struct {
	cache *Cache
	table *table
	it    *pebble.Iterator
	fresh rows.Maker
	next  rows.Key // the least key not seen yet
	ended bool     // the store has no more
}

// run visits until the visitor stops or all is seen, then reads ahead.
func (m *merging) run(visit func(rows.Key, rows.Row) bool) error {
	ahead := -1 // not stopped yet
	for ok := m.it.First(); ok && ahead != 0; ok = m.it.Next() {
		k, err := rows.ParseKey(m.it.Key())
		if err != nil {
			return err
		}
		if ahead < 0 && !m.table.walk(&m.next, &k, visit) {
			m.next = k // stopped at a row that only memory has
			return nil
		}
		e := m.keep(k)
		m.next = successor(k)
		if ahead > 0 {
			ahead--
		} else if e.used = true; e.row != nil && !visit(e.key, e.row) {
			ahead = 0
			if m.table.front {
				ahead = readAhead
			}
		}
	}
	if err := m.it.Error(); err != nil {
		return fmt.Errorf("scanning: %w", err)
	}
	if m.ended = !m.it.Valid() && ahead != 0; m.ended && ahead < 0 {
		m.table.walk(&m.next, nil, visit)
	}
	return nil
}

// keep is the entry of a row that the iterator is at.
func (m *merging) keep(k rows.Key) *entry {
	if e := m.table.get(&k); e != nil {
		if e.stored == unknown {
			e.stored = present
		}
		return e
	}
	c := m.cache
	value := append(make([]byte, 0, len(m.it.Value())), m.it.Value()...)
	row := c.decode(&k, value, m.fresh)
	g := c.group(&k)
	e := c.insert(g, m.table, &k)
	e.row, e.stored = row, present
	c.account(g, e, len(value))
	return e
}

// learn notes what of the table is now known.
func (m *merging) learn(from rows.Key) {
	if m.ended || compare(&from, &m.next) < 0 {
		m.table.span.learn(from, m.next, m.ended, m.table.front)
	}
}
