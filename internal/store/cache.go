package store

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/rows"
)

// Cache is the state of a partition as of the last record decided: decoded rows
// over a Store, as a rows.Source. Changes of records that are not in the store
// yet are pinned; everything else is kept within a limit of bytes, the least
// recently used workflows going first, and rows of a workflow that alone fills
// the cache going too.
//
// It belongs to the goroutine that owns the partition.
//
// It relies on the machine for one thing: while the store has no Header row of
// a workflow, it has no row of that workflow in any table below Definition. So
// the rows of a new workflow are known without asking the store.
type Cache struct {
	store  *Store
	limit  int64
	groups map[string]*group
	root   *group // tables that are ordered by time, and rows of no workflow
	last   *group // of the last access
	lru    lru

	pending []pending // changes not yet written, in order of records
	head    int       // of pending
	batch   []Change  // what Unwritten returned
	members []*entry  // the entries of batch
	upto    uint64    // the record that batch reaches to

	scanning int
	free     []*entry
	bytes    int64 // of everything
	clean    int64 // of what may be evicted
	hits     uint64
	misses   uint64
}

// pending is one change of one record.
type pending struct {
	entry  *entry
	row    rows.Row
	record uint64
}

// NewCache makes an empty cache over s. Unpinned rows take about limit bytes.
func NewCache(s *Store, limit int64) *Cache {
	c := &Cache{store: s, limit: limit}
	c.Drop()
	return c
}

// Drop forgets everything, changes that are not written included: the pipeline
// is poisoned (J1) and the state is what the store has.
func (c *Cache) Drop() {
	*c = Cache{store: c.store, limit: c.limit, hits: c.hits, misses: c.misses}
	c.groups = map[string]*group{}
	c.root = &group{}
	c.last = c.root
	c.lru.init()
}

// Get implements rows.Source.
func (c *Cache) Get(k rows.Key, fresh rows.Maker) rows.Row {
	g := c.group(&k)
	t := g.table(k.Table)
	if e := t.get(&k); e != nil {
		c.hits++
		e.used = true
		return e.row
	}
	if t.span.covers(&k) {
		c.hits++
		return nil
	}
	return c.read(g, t, k, fresh)
}

// read gets a row from the store into the cache.
func (c *Cache) read(g *group, t *table, k rows.Key, fresh rows.Maker) rows.Row {
	c.misses++
	value, err := c.store.raw(k)
	if err != nil {
		panic(rows.Fault{Err: err})
	}
	row, known := rows.Row(nil), absent
	if value != nil {
		row, known = c.decode(&k, value, fresh), present
	} else if k.Table == rows.Header {
		g.isNew()
	}
	e := c.insert(g, t, &k)
	e.row, e.stored, e.used = row, known, true
	c.account(g, e, len(value))
	c.evict() // perhaps e too
	return row
}

// decode makes a row of what the store has.
func (c *Cache) decode(k *rows.Key, value []byte, fresh rows.Maker) rows.Row {
	row := fresh.Make()
	if err := c.store.decode(*k, value, row); err != nil {
		panic(rows.Fault{Err: err})
	}
	return row
}

// Apply makes the changes of a record visible and pins them. Record numbers are
// the caller's own, ascending.
func (c *Cache) Apply(writes []rows.Write, record uint64) {
	for i := range writes {
		w := &writes[i]
		g := c.group(&w.Key)
		t := g.table(w.Key.Table)
		e := t.get(&w.Key)
		if e == nil {
			e = c.insert(g, t, &w.Key)
			if w.Created || t.span.covers(&w.Key) {
				e.stored = absent
			}
			c.account(g, e, 0)
		}
		c.pin(g, e)
		e.row, e.used = w.Row, true
		c.pending = append(c.pending, pending{e, w.Row, record})
	}
}

func (c *Cache) pin(g *group, e *entry) {
	if e.pins == 0 {
		c.clean -= int64(e.size)
	}
	e.pins++
	g.pins++
}

// Unwritten are the changes of all records up to the given one that are not in
// the store, one per key: for Store.Commit. The slice is valid until the next
// call.
func (c *Cache) Unwritten(record uint64) []Change {
	for _, e := range c.members {
		e.slot = 0
	}
	c.batch, c.members, c.upto = c.batch[:0], c.members[:0], record
	for i := c.head; i < len(c.pending) && c.pending[i].record <= record; i++ {
		p := &c.pending[i]
		if p.entry.slot == 0 {
			c.batch = append(c.batch, Change{Key: p.entry.key, New: p.entry.stored == absent})
			c.members = append(c.members, p.entry)
			p.entry.slot = int32(len(c.batch))
		}
		c.batch[p.entry.slot-1].Row = p.row
	}
	return c.batch
}

// Written says that what Unwritten returned for this record is in the store.
func (c *Cache) Written(record uint64) {
	if record != c.upto {
		panic(fmt.Sprintf("store: written up to record %d, but asked for up to %d", record, c.upto))
	}
	for ; c.head < len(c.pending) && c.pending[c.head].record <= record; c.head++ {
		p := &c.pending[c.head]
		p.entry.pins--
		p.entry.group.pins--
		*p = pending{}
	}
	for i, e := range c.members {
		c.settle(e, &c.batch[i])
		c.batch[i] = Change{}
	}
	clear(c.members)
	c.members = c.members[:0]
	c.shift()
	c.evict()
}

// settle notes that the store now has what a change says.
func (c *Cache) settle(e *entry, change *Change) {
	e.slot = 0
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

// Pending is the number of changes that are not in the store.
func (c *Cache) Pending() int { return len(c.pending) - c.head }

// Stats are figures of a cache.
type Stats struct {
	Bytes     int64 // estimated, of everything
	Limit     int64 // of what is not pinned
	Pinned    int64 // bytes that may not be evicted
	Workflows int
	Hits      uint64 // lookups answered without the store
	Misses    uint64
}

// Stats are the figures as of now.
func (c *Cache) Stats() Stats {
	return Stats{
		Bytes: c.bytes, Limit: c.limit, Pinned: c.bytes - c.clean,
		Workflows: len(c.groups), Hits: c.hits, Misses: c.misses,
	}
}
