package loop

import (
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

func TestANameThatWasMetIsNeverFresh(t *testing.T) {
	n := names{stored: &Bloom{}}
	wrong := 0
	for i := range 50_000 {
		if !n.fresh(fmt.Sprint("new", i)) {
			wrong++
		}
		n.note(fmt.Sprint("met", i))
		if n.fresh(fmt.Sprint("met", i)) || n.fresh(fmt.Sprint("met", i/2)) {
			t.Fatalf("met%d is called fresh", i)
		}
	}
	if wrong > 50_000/20 {
		t.Errorf("%d of 50,000 new names were not recognised", wrong)
	}
}

func TestTooManyNamesAreGivenUp(t *testing.T) {
	b := Bloom{}
	for i := uint64(0); !b.full; i++ {
		b.add(i * 0x9e3779b97f4a7c15)
		if i > 20_000_000 {
			t.Fatal("it grows without end")
		}
	}
	n := names{stored: &b}
	if len(b.layers) != 0 || n.fresh("x") {
		t.Error("what was given up still answers")
	}
}

func TestNothingIsFreshBeforeTheStoreIsKnown(t *testing.T) {
	var n names
	if n.fresh("x") {
		t.Error("a name is fresh though the store was not read")
	}
}

// guests is a machine whose entities come to be by what an executor reports, as pools do.
type guests struct{ machine.Machine }

// Decide implements machine.Machine.
func (g guests) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	if _, is := in.Inbox.(*events.RunnerReport); !is {
		return g.Machine.Decide(tx, at, now, in)
	}
	tx.Create(looptest.HeadKey(in.Workflow), &looptest.Tally{Applied: at})
	return machine.Concluded(in.Workflow, []events.Event{&events.RunnerJoined{Session: 1}}, nil)
}

// What has its first rows by an input without an id is not fresh: its rows may be in the store alone when its first command
// comes, and count as gone then.
func TestWhatComesToBeByAReportIsNotFresh(t *testing.T) {
	const id = "pool:images"
	m := newModel(t, Settings{})
	m.p.Machine = guests{m.p.Machine}
	m.p.LearnNames(&Bloom{})
	m.input(events.FromInbox, id, string(events.EncodeInbox(&events.RunnerReport{Connection: events.Connection{Executor: "x"}})))
	m.take()
	m.command("c1", id, "stop_runner", `{"runner": "a", "by": "an operator", "why": "a test"}`) // model.Fresh fails
	m.take()
	if len(m.journal) != 2 {
		t.Errorf("%d records are decided, want 2", len(m.journal))
	}
}
