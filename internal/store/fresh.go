package store

import "github.com/heddle-run/heddle/shared/rows"

// Fresh tells the cache that the store has no row of a workflow, neither its own
// nor in the ledger, so that none is looked for.
func (c *Cache) Fresh(workflow string) {
	k := rows.Key{Table: rows.Header, Workflow: workflow}
	g := c.group(&k)
	if g.fresh {
		return
	}
	g.isNew()
	g.table(rows.Ledger).span.all()
}
