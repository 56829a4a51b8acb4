package planner

import (
	"testing"

	"github.com/heddle-run/heddle/shared/rows"
)

// Whatever table a run has rows in, a deletion removes them.
func TestEachTableOfARunIsRemoved(t *testing.T) {
	for _, table := range ownTables {
		if tables[table] == nil {
			t.Errorf("nobody knows the type of the rows of %v: tables has no line for it", table)
		}
	}
	if len(tables) != len(ownTables) || rows.Own[0] != rows.Header {
		t.Errorf("tables has %d lines, there are %d tables", len(tables), len(ownTables))
	}
}
