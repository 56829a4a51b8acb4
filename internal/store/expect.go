package store

import "github.com/heddle-run/heddle/shared/rows"

// usual are the tables that most records of a workflow look into.
var usual = [...]int{slot(rows.Header), slot(rows.Runnable), slot(rows.Page)}

// Expect says of which workflows the next records are. It changes nothing that
// shows. Under load the rows of a workflow have left the processor's caches by
// the time of its next record, and each look at one waits for memory. Here the
// waits for many workflows overlap: first for the tables, then for the newest
// entries, then for their rows.
func (c *Cache) Expect(workflows [][]byte) {
	for _, w := range workflows {
		if g := c.groups[string(w)]; g != nil {
			c.expected = append(c.expected, g)
		}
	}
	for _, g := range c.expected {
		for _, at := range usual {
			for _, e := range g.tables[at].newest() {
				c.touched += e.key.A // or the compiler would leave the look out
			}
		}
	}
	for _, g := range c.expected {
		for _, at := range usual {
			for _, e := range g.tables[at].newest() {
				if row, ok := e.row.(rows.Touched); ok {
					c.touched += row.Touch()
				}
			}
		}
	}
	clear(c.expected)
	c.expected = c.expected[:0]
}

// newest are the last entries of a table, which may be nil.
func (t *table) newest() []*entry {
	if t == nil || len(t.chunks) == 0 {
		return nil
	}
	c := t.chunks[len(t.chunks)-1]
	return c[max(0, len(c)-2):]
}
