package store

import "github.com/heddle-run/heddle/shared/rows"

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
	budget *Budget
	groups map[string]*group
	root   *group // tables that are ordered by time, and rows of no workflow
	last   *group // of the last access
	lru    lru

	pending []pending // changes not yet written, in order of records
	head    int       // of pending
	batch   batch     // what Unwritten returned

	expected []*group // room for Expect
	touched  uint64   // by Expect; of no meaning

	scanning int
	free     []*entry
	bytes    int64 // of everything
	clean    int64 // of what may be evicted
	hits     uint64
	misses   uint64
}

// NewCache makes an empty cache over s. Unpinned rows take about limit bytes.
func NewCache(s *Store, limit int64) *Cache { return NewCacheWithin(NewBudget(limit), s) }

// NewCacheWithin makes an empty cache over s. Unpinned rows take about its share of
// the budget. Release it.
func NewCacheWithin(b *Budget, s *Store) *Cache {
	c := &Cache{store: s, budget: b}
	b.open.Add(1)
	c.Drop()
	return c
}

// Release gives the share of the budget to other caches. The cache is not used any
// more.
func (c *Cache) Release() {
	c.Drop()
	c.budget.open.Add(-1)
}

// Drop forgets everything, changes that are not written included: the pipeline
// is poisoned and the state is what the store has.
func (c *Cache) Drop() {
	*c = Cache{store: c.store, budget: c.budget, hits: c.hits, misses: c.misses}
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
		Bytes: c.bytes, Limit: c.budget.share(), Pinned: c.bytes - c.clean,
		Workflows: len(c.groups), Hits: c.hits, Misses: c.misses,
	}
}
