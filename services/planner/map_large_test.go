package planner

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

const (
	longList = `{"name":"d","components":{"m":{"map":"input","parallel":8,"do":{"x":{"step":"f.id"}}},` +
		`"r":{"reduce":"m.x","init":0,"with":"acc + item"}}}`
	fewElements  = 5_000
	manyElements = 100_000
)

// elementsOf is a list of the numbers from 1 to n, and their sum.
func elementsOf(n int) (list string, sum int) {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		b.WriteString("," + strconv.Itoa(i))
		sum += i
	}
	return "[" + b.String()[1:] + "]", sum
}

// D23: a long list goes through one step and a reduce in records each of which is small, with as
// much open at a time as are worked on, and at the same cost from the first element to the
// last. HEDDLE_LONG=1 takes 100,000 elements.
func TestAMapOfManyElementsIsFlat(t *testing.T) {
	n := fewElements
	if os.Getenv("HEDDLE_LONG") != "" {
		n = manyElements
	}
	list, sum := elementsOf(n)
	w := newWorld(t, setting{seed: 3})
	w.defs["d"] = longList
	w.startsWith(list)
	first := len(w.journal) // the list itself is one value
	var took []time.Duration
	began := time.Now()
	for at := 1; w.step(); at++ {
		if at%(n/10) == 0 {
			took = append(took, time.Since(began))
			began = time.Now()
			w.boundedRows()
		}
	}
	for i, raw := range w.journal[first:] {
		if len(raw) > machine.DefaultBytes {
			t.Fatalf("record %d has %d bytes", i, len(raw))
		}
	}
	w.bounded(first)
	if s := w.status("w"); s.Status != "idle" || s.Counts.Completed != uint64(n)+1 {
		t.Fatalf("%s with %+v", s.Status, s.Counts)
	}
	if got := string(w.query("results", "w", false)); got != `{"results":{"r":`+strconv.Itoa(sum)+`},"status":"idle"}` {
		t.Fatal(got)
	}
	t.Logf("tenths of %d elements took %v", n, took)
}

// boundedRows checks that what a run has beside its facts and the rest of its list does not grow.
func (w *world) boundedRows() {
	w.t.Helper()
	n := 0
	for _, k := range w.state.Keys() {
		switch k.Table {
		case rows.Page, rows.Fact, rows.Elements, rows.Definition:
		default:
			n++
		}
	}
	if n > 8*8 {
		w.t.Fatalf("%d rows are open", n)
	}
}

// In the middle of a long list each command is answered by its first record, and a restart
// changes nothing.
func TestCommandsInTheMiddleOfALongList(t *testing.T) {
	list, sum := elementsOf(2048)
	middle := func(t *testing.T) *world {
		w := newWorld(t, setting{seed: 9})
		w.defs["d"] = longList
		w.startsWith(list)
		for range 1000 {
			w.step()
		}
		return w
	}
	end := func(w *world, status string) {
		w.t.Helper()
		w.run()
		w.bounded(1)
		if s := w.status("w"); s.Status != status || len(w.openScopes()) > 0 {
			w.t.Fatalf("%s with %+v and %v", s.Status, s.Counts, w.openScopes())
		}
	}
	result := func(w *world, want string) {
		w.t.Helper()
		if got := string(w.query("results", "w", false)); !strings.Contains(got, `"r":`+want+`}`) {
			w.t.Fatal(got)
		}
	}
	t.Run("restarted", func(t *testing.T) {
		w := middle(t)
		w.restart()
		end(w, "idle")
		result(w, strconv.Itoa(sum))
		if n := w.calls["w m.x"]; n != 2048 {
			t.Errorf("%d elements were executed", n)
		}
	})
	t.Run("paused", func(t *testing.T) {
		w := middle(t)
		w.command("w", "pause", `{}`)
		for w.step() {
		}
		if s := w.status("w"); s.Status != "paused" || s.Counts.Active > 0 || s.Counts.Completed > 1000+8 {
			t.Fatalf("%s with %+v", s.Status, s.Counts)
		}
		w.command("w", "resume", `{}`)
		end(w, "idle")
		result(w, strconv.Itoa(sum))
	})
	t.Run("the map skipped", func(t *testing.T) {
		w := middle(t)
		w.command("w", "skip", `{"runnable":"r1"}`)
		end(w, "idle")
		result(w, "null")
		if s := w.status("w"); s.Counts.Completed > 1000+8 {
			t.Errorf("%+v", s.Counts)
		}
	})
	t.Run("cancelled and deleted", func(t *testing.T) {
		w := middle(t)
		before := len(w.records)
		w.command("w", "cancel", `{}`)
		if s := w.status("w"); s.Status != "cancelled" || len(w.records) != before+1 {
			t.Errorf("%s after %d records", s.Status, len(w.records)-before)
		}
		w.command("w", "delete", `{}`)
		w.gone()
	})
}

// reads counts how often facts that have rows of their own are read.
type reads struct {
	*rows.Memory
	facts int
}

// Get implements rows.Source.
func (r *reads) Get(k rows.Key, fresh rows.Maker) rows.Row {
	if k.Table == rows.Fact {
		r.facts++
	}
	return r.Memory.Get(k, fresh)
}

// What brought a long list is not read again for each element: it may be too large to be kept at hand.
func TestALongListIsReadOnce(t *testing.T) {
	list, _ := elementsOf(2048)
	for name, d := range map[string]string{
		"by a map":    longList,
		"by a reduce": `{"name":"d","components":{"r":{"reduce":"input","init":0,"with":{"step":"f.fold"}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setting{})
			w.defs["d"] = d
			w.startsWith(list)
			for range 100 {
				w.step()
			}
			task, _ := w.next()
			in := machine.Input{Workflow: "w", Source: events.FromInbox, Inbox: w.execute(task)}
			src := &reads{Memory: &w.state}
			if out := w.p.Decide(rows.Begin(src), events.Position{Epoch: w.epoch, Seq: w.seq + 1}, w.now, in); len(out.Events) == 0 || src.facts > 0 {
				t.Errorf("%d events, for which large facts were read %d times", len(out.Events), src.facts)
			}
		})
	}
}
