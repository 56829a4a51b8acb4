package store

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/rows"
)

// group is what the cache has of one workflow: its rows by table.
type group struct {
	name       string
	prev, next *group // in the order of last use
	tables     [lastSlot + 1]*table
	fresh      bool // the store has none of the workflow's own rows but what is here
	pins       int
	bytes      int64

	oldest, newest int32 // 1 + place in the cache's batch, while that is gathered
}

const (
	groupCost = 600 // estimated bytes of a group and its tables

	ownSlots = int(rows.OwnEnd)
	lastSlot = ownSlots + 13
)

// slot is the place of a table in a group.
func slot(t rows.Table) int {
	switch {
	case t < rows.OwnEnd:
		return int(t)
	case t >= rows.Definition && t <= rows.Dispatch:
		return ownSlots + int(t-rows.Definition)
	case t >= rows.Timer && t <= rows.Dirty:
		return ownSlots + 6 + int(t-rows.Timer)
	}
	panic(fmt.Sprintf("store: the cache has no place for table %d", t))
}

// group is the group of a key, made if need be, and now the last used one.
func (c *Cache) group(k *rows.Key) *group {
	if k.Workflow == "" || timeFirst(k.Table) {
		return c.root
	}
	if c.last.name == k.Workflow {
		return c.last
	}
	g := c.groups[k.Workflow]
	if g == nil {
		g = &group{name: k.Workflow, bytes: groupCost}
		c.groups[g.name] = g
		c.bytes += groupCost
		c.clean += groupCost
	} else {
		c.lru.remove(g)
	}
	c.lru.pushFront(g)
	c.last = g
	return g
}

func (g *group) table(id rows.Table) *table {
	at := slot(id)
	if g.tables[at] == nil {
		t := &table{front: id == rows.Ready || timeFirst(id)}
		if g.fresh && at < ownSlots {
			t.span.all()
		}
		g.tables[at] = t
	}
	return g.tables[at]
}

// isNew notes that the store has no header of the workflow.
func (g *group) isNew() {
	g.fresh = true
	for _, t := range g.tables[:ownSlots] {
		if t != nil {
			t.span.all()
		}
	}
}

// lru is a ring of groups, the most recently used behind the root.
type lru struct{ root group }

func (l *lru) init() { l.root.prev, l.root.next = &l.root, &l.root }

func (l *lru) pushFront(g *group) {
	g.prev, g.next = &l.root, l.root.next
	g.prev.next, g.next.prev = g, g
}

func (l *lru) remove(g *group) {
	g.prev.next, g.next.prev = g.next, g.prev
	g.prev, g.next = nil, nil
}

// oldest is the least recently used group, or nil.
func (l *lru) oldest() *group { return l.newer(&l.root) }

// newer is the group used next after g, or nil.
func (l *lru) newer(g *group) *group {
	if g.prev == &l.root {
		return nil
	}
	return g.prev
}
