package store

import "github.com/heddle-run/heddle/shared/rows"

// local reports whether a table is bookkeeping, of the store or of the changelog, and
// no row of it is part of the state.
func local(t rows.Table) bool { return t >= rows.Metadata }

// timeFirst reports whether the keys of a table order by time before the workflow.
func timeFirst(t rows.Table) bool { return byTime[t] }

var byTime = func() (tables [256]bool) {
	for t := range tables {
		id := rows.Table(t)
		tables[t] = rows.Within(rows.Key{Table: id, Workflow: "a"}, rows.Key{Table: id, Workflow: "b"})
	}
	return tables
}()
