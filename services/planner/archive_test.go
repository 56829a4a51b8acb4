package planner

import (
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// archived says to a workflow's planner that the archiver has a run.
func (w *world) archived(id string, m *events.RunArchived) []events.Event {
	w.t.Helper()
	return w.decide(machine.Input{Workflow: id, Source: events.FromInbox, Inbox: m})
}

// has is the archiver's word about all that there is of a workflow.
func (w *world) has(id string) *events.RunArchived {
	h := w.state.Get(headerKey(id), nil).(*header)
	return &events.RunArchived{Run: h.Run, Through: h.Applied}
}

// archiving is a world whose runs are kept outside Kafka, with a completed and a failed one and one that is idle.
func archiving(t *testing.T) *world {
	w := newWorld(t, setting{})
	w.p.cfg.Archive = true
	w.p.cfg.Retain = definition.Retain{Completed: definition.Forever}
	if wrong := w.define("d", `
name: d
components: {a: {step: f.fussy}}
options: {retain: {completed: 1h, failed: 1h, idle: 1h}}
`); wrong != "" {
		t.Fatal(wrong)
	}
	w.command("completed", "start", `{"definition":"d","input":2,"options":{"close":"on_idle"}}`)
	w.command("failed", "start", `{"definition":"d","input":0}`)
	w.command("idle", "start", `{"definition":"d","input":2}`)
	w.run()
	for _, id := range []string{"completed", "failed", "idle"} {
		if s := w.status(id).Status; s != id {
			t.Fatalf("%s is %s", id, s)
		}
	}
	return w
}

// Where archiving is on a run is deleted by its age when it is archived, and not before.
func TestNothingIsForgottenThatIsNotArchived(t *testing.T) {
	w := archiving(t)
	w.archived("completed", w.has("completed"))
	w.advance(3600_000)
	if w.exists("completed") || !w.exists("failed") || !w.exists("idle") {
		t.Fatal("not what is archived is gone")
	}
	w.advance(30 * 24 * 3600_000)
	for _, id := range []string{"failed", "idle"} {
		if !w.exists(id) {
			t.Fatalf("%s is gone before it is archived", id)
		}
		w.archived(id, w.has(id))
		if w.exists(id) {
			t.Fatalf("%s is archived, and still there", id)
		}
	}
	w.gone()
}

func (w *world) exists(id string) bool { return w.state.Get(headerKey(id), nil) != nil }

// A word about something else changes nothing: of another run, of one that is not there, of a run that has gone on, one
// that comes twice, or about one that is kept for ever.
func TestWordsOfTheArchiverThatMeanNothing(t *testing.T) {
	w := archiving(t)
	older := w.has("failed")
	w.command("failed", "input", `{"input":2}`)
	other := w.has("completed")
	other.Run.Seq++
	w.command("kept", "start", `{"definition":"d","input":2,"options":{"retain":{"idle":"forever"}}}`)
	w.run()
	w.archived("idle", w.has("idle"))
	for name, c := range map[string]struct {
		id   string
		word *events.RunArchived
	}{
		"another run":       {"completed", other},
		"an unknown one":    {"nobody", other},
		"it has gone on":    {"failed", older},
		"kept for ever":     {"kept", w.has("kept")},
		"it was said twice": {"idle", w.has("idle")},
	} {
		if evs := w.archived(c.id, c.word); len(evs) > 0 {
			t.Errorf("%s: the word has made %s", name, events.Name(evs[0]))
		}
	}
}

// What was archived counts for the rest that it was told in: a workflow that goes on is archived anew.
func TestAWorkflowThatGoesOnIsArchivedAgain(t *testing.T) {
	w := archiving(t)
	w.archived("idle", w.has("idle"))
	w.command("idle", "input", `{"input":4}`)
	w.run()
	w.advance(3600_000)
	if !w.exists("idle") {
		t.Fatal("it is gone with what the archive has not")
	}
	w.command("idle", "input", `{"input":6}`) // it is not idle any more, and nobody waits for it to be archived
	if h := w.state.Get(headerKey("idle"), nil).(*header); h.Rest != nil {
		t.Fatalf("it is running and %+v is known of its rest", h.Rest)
	}
	w.run()
	w.advance(3600_000)
	w.archived("idle", w.has("idle"))
	if w.exists("idle") {
		t.Fatal("it is archived, and still there")
	}
}

// A closed run is the same for ever: what was refused since does not hold it.
func TestRefusalsDoNotHoldAClosedRun(t *testing.T) {
	w := archiving(t)
	word := w.has("completed")
	w.command("completed", "input", `{"input":4}`)
	w.archived("completed", word)
	w.advance(3600_000)
	if w.exists("completed") {
		t.Fatal("it is archived, and still there")
	}
}
