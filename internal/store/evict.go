package store

import "github.com/heddle-run/heddle/shared/rows"

const (
	// entryCost is the estimated size of an entry without its row, and of the
	// fixed part of a small row.
	entryCost = 240
	// freeEntries bounds the entries kept for reuse.
	freeEntries = 8192
)

// insert makes an entry for a key that has none. The caller accounts for it.
func (c *Cache) insert(g *group, t *table, k *rows.Key) *entry {
	var e *entry
	if n := len(c.free); n > 0 {
		e, c.free = c.free[n-1], c.free[:n-1]
	} else {
		e = &entry{}
	}
	e.key, e.group = *k, g
	if g != c.root {
		e.key.Workflow = g.name // one copy of the name for all rows
	}
	t.add(e)
	return e
}

// account sets the size of an entry that is not pinned, or new.
func (c *Cache) account(g *group, e *entry, encoded int) {
	size := int32(min(entryCost+2*encoded, 1<<30))
	more := int64(size - e.size)
	e.size = size
	g.bytes += more
	c.bytes += more
	c.clean += more
}

// remove forgets an entry that is not pinned.
func (c *Cache) remove(e *entry) {
	e.group.table(e.key.Table).remove(e)
	c.release(e)
}

// release ends an entry that is in no table any more.
func (c *Cache) release(e *entry) {
	size := int64(e.size)
	e.group.bytes -= size
	c.bytes -= size
	c.clean -= size
	*e = entry{}
	if len(c.free) < freeEntries {
		c.free = append(c.free, e)
	}
}

// evict brings the cache back within its limit: to seven eighths of it, so that
// it is rarely needed. Workflows that fill a good part of the cache give what
// they did not use since the last time; then whole workflows go, the one that
// was used longest ago first; then what is left gives all.
func (c *Cache) evict() {
	limit := c.budget.share()
	if c.bytes <= limit || c.clean < limit/8 || c.scanning > 0 {
		return
	}
	target := limit - limit/8
	c.trimLarge(limit, target)
	for g := c.lru.oldest(); g != nil && c.bytes > target; {
		newer := c.lru.newer(g)
		if g != c.last {
			c.strip(g, target)
		}
		g = newer
	}
	for _, g := range []*group{c.root, c.last} {
		c.trim(g, target, false)
		c.trim(g, target, true)
	}
}

func (c *Cache) trimLarge(limit, target int64) {
	if c.root.bytes > limit/4 {
		c.trim(c.root, target, false)
	}
	for g := c.lru.oldest(); g != nil; g = c.lru.newer(g) {
		if g.bytes > limit/4 {
			c.trim(g, target, false)
		}
	}
}

// strip drops a group, or what of it is not pinned.
func (c *Cache) strip(g *group, target int64) {
	if g.pins > 0 {
		c.trim(g, target, true)
		return
	}
	c.lru.remove(g)
	delete(c.groups, g.name)
	c.bytes -= g.bytes
	c.clean -= g.bytes
}

// trim drops rows of a group until the cache is down to target: those that were
// not used since the last time, or all that are not pinned.
func (c *Cache) trim(g *group, target int64, all bool) {
	for i := len(g.tables) - 1; i >= 0; i-- { // the header last
		t := g.tables[i]
		if t == nil || c.bytes <= target {
			continue
		}
		if t.front {
			c.trimBack(t, target, all)
		} else {
			c.trimFront(t, target, all)
		}
	}
}

// goes reports whether a trim drops an entry.
func (e *entry) goes(all bool) bool {
	drop := e.pins == 0 && (all || !e.used)
	e.used = e.used && all
	return drop
}

// trimFront drops from the lowest key on, and what is behind the highest dropped
// stays known.
func (c *Cache) trimFront(t *table, target int64, all bool) {
	var highest rows.Key
	forget := false
	c.sweepFrom(t, 0, func(e *entry) bool {
		if c.bytes <= target || !e.goes(all) {
			return false
		}
		if t.span.covers(&e.key) {
			highest, forget = e.key, true
		}
		return true
	})
	if forget {
		t.span.forgetTo(highest)
	}
}

// trimBack drops from the highest key on, and what is in front of the lowest
// dropped stays known.
func (c *Cache) trimBack(t *table, target int64, all bool) {
	excess, from := c.bytes-target, len(t.chunks)
	for from > 0 && excess > 0 {
		from--
		for _, e := range t.chunks[from] {
			if e.pins == 0 && (all || !e.used) {
				excess -= int64(e.size)
			}
		}
	}
	c.sweepFrom(t, from, func(e *entry) bool {
		if !e.goes(all) {
			return false
		}
		t.span.forgetFrom(&e.key)
		return true
	})
}

// sweepFrom drops entries of the chunks from one on, in key order.
func (c *Cache) sweepFrom(t *table, from int, drop func(*entry) bool) {
	t.version++
	t.last = nil
	kept := t.chunks[:from]
	for _, chunk := range t.chunks[from:] {
		left := chunk[:0]
		for _, e := range chunk {
			if drop(e) {
				c.release(e)
			} else {
				left = append(left, e)
			}
		}
		clear(chunk[len(left):])
		if len(left) > 0 {
			kept = append(kept, left)
		}
	}
	clear(t.chunks[len(kept):])
	t.chunks = kept
}
