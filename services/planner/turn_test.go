package planner

import (
	"reflect"
	"slices"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// A turn begins with nothing of the record before, but what binds its parts and the room
// that they have.
func TestATurnBeginsAnew(t *testing.T) {
	w := newWorld(t, setting{name: "plain"})
	w.define("d", `{"name":"d","components":{"a":{"step":"f.inc"},"b":{"step":"f.boom"},"c":{"sleep":"1s"},"e":{"step":"f.inc","catch":"b"}}}`)
	w.command("w", "start", `{"definition":"d","input":5,"context":{"x":1}}`)
	w.run()
	used := w.p.begin(rows.Begin(&w.state), events.Position{}, 0, "nobody")
	fresh := w.planner()
	want := fresh.begin(used.tx, events.Position{}, 0, "nobody")
	anew(t, "turn", reflect.ValueOf(used).Elem(), reflect.ValueOf(want).Elem())
}

// anew compares two turns field by field: slices have no elements, pointers to a turn or a
// workflow lead to the turn itself.
func anew(t *testing.T, path string, got, want reflect.Value) {
	t.Helper()
	bound := []reflect.Type{reflect.TypeFor[*turn](), reflect.TypeFor[*workflow](), reflect.TypeFor[*Planner](), reflect.TypeFor[*rows.Tx]()}
	switch {
	case slices.Contains(bound, got.Type()):
		if got.IsNil() != want.IsNil() {
			t.Errorf("%s is not bound", path)
		}
	case got.Kind() == reflect.Struct:
		for i := range got.NumField() {
			anew(t, path+"."+got.Type().Field(i).Name, got.Field(i), want.Field(i))
		}
	case got.Kind() == reflect.Slice || got.Kind() == reflect.Map:
		if got.Len() > 0 {
			t.Errorf("%s has %d elements of the record before", path, got.Len())
		}
	case !got.Equal(want):
		t.Errorf("%s is %v of the record before", path, got)
	}
}

// planner is one that begins.
func (w *world) planner() *Planner {
	p := New(Config{
		Key:         events.Key("0123456789abcdef"),
		Definitions: func(ref string) ([]byte, bool) { d, ok := w.defs[ref]; return []byte(d), ok },
		Budget:      w.budget,
		MaxActive:   w.maxActive,
	})
	if w.p != nil { // the same source compiles to the same again, which would take a quarter of the time
		p.compiled = w.p.compiled
	}
	return p
}
