package planner

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// A checkpoint whose owner died in it has the partition's rows of after a deletion, and the
// workflow's of before. What the run did up to its deletion is passed over then: nobody
// has its definition any more.
func TestARunThatWasDeletedSinceIsPassedOver(t *testing.T) {
	const waits = `{"name":"d","components":{"a":{"sleep":"1s"},"b":{"step":"f.inc","policy":{"execution_mode":"external"}},
		"c":{"step":"f.inc","after":{"first":{"of":["a","b"]}}},
		"s":{"signal":"go","timeout":"1h"},"i":{"idle_for":"1h","of":"b"}}}`
	w := newWorld(t, setting{name: "plain"})
	w.define("d", waits)
	w.command("w", "start", `{"definition":"d","input":5}`)
	before, from := w.copied(), len(w.journal)
	w.advance(1000)
	w.run()
	w.command("w", "input", `{"input":7}`)
	w.command("w", "delete", `{"force":true}`)
	w.command("w", "start", `{"definition":"d","input":9}`)
	w.command("w", "delete", `{"force":true}`)
	w.p = w.planner()
	for _, k := range before.Keys() {
		if k.Owner() == "w" {
			tx := rows.Begin(&w.state)
			tx.Put(k, before.Get(k, nil))
			w.state.Commit(tx.Writes())
		}
	}
	for _, raw := range w.journal[from:] {
		rec, err := events.DecodeRecord(raw)
		w.must(err)
		tx := rows.Begin(&w.state)
		w.p.Apply(tx, rec, true)
		w.state.Commit(tx.Writes())
	}
	for _, k := range w.state.Keys() {
		t.Errorf("%v is left", k)
	}
}

// copied is the state as it is.
func (w *world) copied() *rows.Memory {
	var to rows.Memory
	tx := rows.Begin(&to)
	for _, k := range w.state.Keys() {
		tx.Put(k, w.state.Get(k, nil))
	}
	to.Commit(tx.Writes())
	return &to
}
