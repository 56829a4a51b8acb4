package loop

import (
	"testing"

	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// teller is a counter that tells of each event, unless the workflow is one of which the
// telling has a defect.
type teller struct{ *looptest.Counter }

func (teller) Tell(before, after *rows.Tx, rec *events.Record, _ bool, told []machine.Told) []machine.Told {
	if rec.Workflow == "untold" {
		panic("a defect of the telling")
	}
	for _, e := range rec.Events {
		told = append(told, machine.Told{Event: e})
	}
	return told
}

// audience keeps what it is told.
type audience struct{ heard []string }

func (a *audience) Detail() bool { return false }

func (a *audience) Observe(rec *events.Record, told []machine.Told) {
	for _, t := range told {
		a.heard = append(a.heard, rec.Workflow+" "+events.Name(t.Event))
	}
}

// observedModel is a model whose machine tells the audience.
func observedModel(t *testing.T) (*model, *audience) {
	m, a := newModel(t, Settings{}), &audience{}
	m.p.Config.Machine, m.p.Config.Observer = teller{m.p.Machine.(*looptest.Counter)}, a
	m.p.told.begin(&m.p.Config)
	return m, a
}

func TestTheObserverIsToldOnceTheJournalHasARecord(t *testing.T) {
	m, a := observedModel(t)
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	if len(m.journal) != 1 || len(a.heard) != 0 {
		t.Fatalf("%d records are appended, none acknowledged, and told is %v", len(m.journal), a.heard)
	}
	m.ack()
	if len(a.heard) == 0 || a.heard[0] != "w WorkflowStarted" {
		t.Fatalf("told is %v", a.heard)
	}
	told := len(a.heard)
	m.command("a", "w", "start", `{"definition":"counter"}`) // a repetition
	m.mustStep()
	m.ack()
	m.takenOver()
	if len(a.heard) != told {
		t.Fatalf("told again behind a repetition and a takeover: %v", a.heard[told:])
	}
}

func TestADefectOfTheTellingStopsNothing(t *testing.T) {
	m, a := observedModel(t)
	m.command("a", "untold", "start", `{"definition":"counter"}`)
	m.command("b", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	m.ack()
	if m.record(0).Workflow != "untold" || events.Name(m.record(0).Events[0]) != "WorkflowStarted" {
		t.Fatalf("the record is not what was decided: %s", m.names(0))
	}
	if len(a.heard) == 0 || a.heard[0] != "w WorkflowStarted" {
		t.Fatalf("told is %v", a.heard)
	}
}
