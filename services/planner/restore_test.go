package planner

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// moving is a definition with most of what leaves rows: a map, a fold, a state, a timer, a signal, a retry and a join.
const moving = `{"name":"d","components":{` +
	`"m":{"map":"[1, 2, 3, 4]","parallel":2,"do":{"x":{"step":"f.inc"}}},` +
	`"sum":{"reduce":"m.x","with":"acc + item","init":0},` +
	`"acc":{"accumulate":"state + input","init":0,"after":"sum"},` +
	`"late":{"sleep":"1h","after":"sum"},` +
	`"go":{"signal":"go","after":"late"},` +
	`"retried":{"step":"f.inc","after":"go","policy":{"max_retries":2,"concurrency":{"key":"'k'","limit":1}}},` +
	`"both":{"expr":"input","after":["retried","acc"]}},` +
	`"options":{"close":"on_idle","retain":{"completed":"1h"}}}`

// moved is what is restored of a workflow of a world: its journal folded, at rest.
func (w *world) moved(id string) *events.RunRestore {
	w.t.Helper()
	var state rows.Memory
	p := w.planner()
	m := &events.RunRestore{}
	var last events.Position
	for _, raw := range w.journal {
		rec, err := events.DecodeRecord(raw)
		w.must(err)
		tx := rows.Begin(&state)
		p.Apply(tx, rec, true)
		state.Commit(tx.Writes())
		last = rec.Position
		for _, e := range rec.Events {
			if d, is := e.(*events.DefinitionPinned); is {
				m.Definitions = append(m.Definitions, *d)
			}
		}
	}
	var err error
	m.Run = rows.Get[header](rows.Begin(&state), headerKey(id)).Run
	m.Resume, err = p.Rest(&state, id, last, w.now)
	w.must(err)
	for _, k := range state.Keys() {
		if k.Owner() == id {
			m.Rows = append(m.Rows, events.RestoredRow{Key: k.Append(nil), Value: wire.Marshal(state.Get(k, nil))})
		}
	}
	return m
}

// restores gives a run to the planner of another deployment.
func (w *world) restores(id string, m *events.RunRestore) []events.Event {
	w.t.Helper()
	back, err := events.DecodeInbox(events.EncodeInbox(m))
	w.must(err)
	return w.decide(machine.Input{Workflow: id, Source: events.FromInbox, Inbox: back})
}

// ends brings a run of moving to its end.
func (w *world) ends(id string) string {
	w.t.Helper()
	w.run()
	w.advance(3600_000)
	w.run()
	if w.status(id).Status == "running" {
		w.command(id, "signal", `{"name":"go"}`)
	}
	w.run()
	w.advance(60_000) // what is asked of a key again
	w.run()
	if s := w.status(id); s.Status != "completed" {
		w.t.Fatalf("%s is %s: %+v", id, s.Status, s.Counts)
	}
	return string(w.query("results", id, false))
}

// Wherever a run is taken from one deployment, it comes to the same in another one: what was in flight is done again under
// the same idempotency keys, and nothing else is.
func TestARestoredRunGoesOnAsTheFirstWouldHave(t *testing.T) {
	first := newWorld(t, setting{})
	first.defs["d"] = moving
	first.command("w", "start", `{"definition":"d","input":1}`)
	want := first.ends("w")
	for steps := range 9 {
		w := newWorld(t, setting{})
		w.defs["d"] = moving
		w.command("w", "start", `{"definition":"d","input":1}`)
		for range steps {
			if !w.step() {
				w.advance(3600_000)
			}
		}
		m := w.moved("w")
		other := newWorld(t, setting{})
		other.now = w.now
		if evs := other.restores("w", m); len(evs) == 0 {
			t.Fatalf("after %d steps nothing is restored", steps)
		}
		if got := other.ends("w"); got != want {
			t.Errorf("restored after %d steps it gives %s, want %s", steps, got, want)
		}
		other.restart()
		for name, keys := range other.keysOf {
			for _, key := range keys {
				if want := fmt.Sprintf("w/%d.%d/", m.Run.Epoch, m.Run.Seq); len(key) < len(want) || key[:len(want)] != want {
					t.Errorf("after %d steps %s runs under the key %s", steps, name, key)
				}
			}
		}
		other.advance(3600_000)
		other.gone()
	}
}

// A run that is over is readable again, and kept anew for as long as its kind is.
func TestAClosedRunIsReadableAgain(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = moving
	w.command("w", "start", `{"definition":"d","input":1}`)
	want := w.ends("w")
	m := w.moved("w")
	other := newWorld(t, setting{})
	other.now = w.now + 10*24*3600_000
	other.restores("w", m)
	if got := string(other.query("results", "w", false)); got != want || other.status("w").Status != "completed" {
		t.Fatalf("the restored run is %s with %s, want %s", other.status("w").Status, got, want)
	}
	other.advance(3600_000 - 1)
	if !other.exists("w") {
		t.Fatal("it is kept for less than an hour")
	}
	other.advance(1)
	other.gone()
}

// What is no run at rest, or one that is there already, changes nothing.
func TestWhatIsNoRunIsNotRestored(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = moving
	w.command("w", "start", `{"definition":"d","input":1}`)
	m := w.moved("w")
	for name, spoil := range map[string]func(m *events.RunRestore){
		"without rows":                func(m *events.RunRestore) { m.Rows = nil },
		"without a definition":        func(m *events.RunRestore) { m.Definitions = nil },
		"another definition":          func(m *events.RunRestore) { m.Definitions[0].Digest = "sha256:00" },
		"a definition that is none":   func(m *events.RunRestore) { m.Definitions[0].Canonical = json.RawMessage(`{}`) },
		"a row that cannot be read":   func(m *events.RunRestore) { m.Rows[0].Value = []byte{0xff} },
		"a key that cannot be read":   func(m *events.RunRestore) { m.Rows[0].Key = nil },
		"a row of the partition":      func(m *events.RunRestore) { m.Rows[0].Key = pinsKey("x").Append(nil) },
		"a row of another workflow":   func(m *events.RunRestore) { m.Rows[0].Key = headerKey("v").Append(nil) },
		"a table that nobody knows":   func(m *events.RunRestore) { m.Rows[0].Key = rows.Key{Table: 200, Workflow: "w"}.Append(nil) },
		"a state that nobody is in":   func(m *events.RunRestore) { m.Rows[0].Value = wire.Marshal(&header{Status: 77}) },
		"something is in hand of it":  func(m *events.RunRestore) { m.Rows[0].Value = wire.Marshal(&header{Status: Running, HandNext: 1}) },
		"its workflow has no options": func(m *events.RunRestore) { m.Rows[1].Value = wire.Marshal(&setup{Digest: "x"}) },
	} {
		bad := *m
		bad.Rows, bad.Definitions = append([]events.RestoredRow{}, m.Rows...), append([]events.DefinitionPinned{}, m.Definitions...)
		spoil(&bad)
		if evs := newWorld(t, setting{}).restores("w", &bad); len(evs) > 0 {
			t.Errorf("%s: it is restored", name)
		}
	}
	if evs := w.restores("w", m); len(evs) > 0 {
		t.Error("one that is there is restored over it")
	}
}

// Rows of each table of a run can be restored.
func TestEachTableOfARunIsRestored(t *testing.T) {
	for _, table := range append([]rows.Table{rows.Timer}, rows.Own...) {
		if rowMakers[table] == nil {
			t.Errorf("rows of table %s are not", table)
		}
	}
}
