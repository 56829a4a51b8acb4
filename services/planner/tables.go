package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// tables has one line for each table that a run has rows in, besides its header and its setup:
// how the rows of its type are visited.
var tables = map[rows.Table]visitRows{
	rows.Fact:       visit[fact],
	rows.Runnable:   visit[runnable],
	rows.Join:       visit[join],
	rows.Arm:        visit[arm],
	rows.Scope:      visit[scope],
	rows.Ready:      visit[present],
	rows.Latest:     visit[latestRow],
	rows.Suppressed: visit[suppression],
	rows.Page:       visit[factPage],
	rows.InHand:     visit[events.Work],
	rows.Elements:   visit[elements],
	rows.Fold:       visit[fold],
	rows.State:      visit[state],
	rows.Settled:    visit[settled],
	rows.Signal:     visit[keptSignal],
	rows.Match:      visit[present],
	rows.Watch:      visit[watch],
	rows.Racer:      visit[present],
	rows.Kept:       visit[keptRow],
}

// ownTables are these tables, in the order in which they are removed.
var ownTables = rows.Own[1:]

// visitRows visits rows from a key on, with the bytes of the values in each, until it is told to stop.
type visitRows func(tx *rows.Tx, from rows.Key, more func(k rows.Key, bytes int) bool)

// valued is a row with values that may be large.
type valued interface{ size() int }

func visit[T any, P wire.Pointer[T]](tx *rows.Tx, from rows.Key, more func(rows.Key, int) bool) {
	rows.Scan(tx, from, func(k rows.Key, row P) bool {
		bytes := 0
		if v, ok := any(row).(valued); ok {
			bytes = v.size()
		}
		return more(k, bytes)
	})
}

// firstRows are the first rows of a table of the run, at most so many, and no more once
// their values have so many bytes; full reports that there may be more.
func (w *workflow) firstRows(table rows.Table, most, mostBytes int) (keys []rows.Key, full bool) {
	if most <= 0 {
		return nil, true
	}
	each, ok := tables[table]
	if !ok {
		panic(fmt.Sprintf("table %d is no table of a workflow's own rows", table))
	}
	each(w.tx, rows.Key{Table: table, Workflow: w.id}, func(k rows.Key, bytes int) bool {
		mostBytes -= bytes
		keys = append(keys, k)
		full = len(keys) == most || mostBytes <= 0
		return !full
	})
	return keys, full
}

func (f *fact) size() int { return len(f.Value) }

func (f *fold) size() int { return len(f.Value) }

func (s *state) size() int { return len(s.Value) }

func (s *keptSignal) size() int { return len(s.Value) }
