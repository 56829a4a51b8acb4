package planner

import (
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// turn is the work on one record for one workflow: deciding it or applying it.
type turn struct {
	p   *Planner
	tx  *rows.Tx
	at  events.Position
	now int64 // Unix ms, the record's time
	wf  string
	in  machine.Input // when deciding

	misfit *excess // why it is decided again, if it is (J4)
	spend  spending

	lastMerge merge // of contexts, in this decision

	events []events.Event

	head  *header // a private copy once changed; nil = unknown workflow
	owned bool    // head is the copy that this turn may change
	set   *setup
	g     *definition.Graph

	work     []arrival    // facts and deaths on their way along edges
	fresh    []readyEntry // became ready in this turn
	queued   []readyEntry // entered the admission queue, whose rows are not written yet
	openings []opening    // scopes that this record touched
}

// begin makes the planner's one turn ready for a record: it is reused, since a
// step would else allocate one for each of its parts.
func (p *Planner) begin(tx *rows.Tx, at events.Position, now int64, wf string) *turn {
	t := &p.turn
	*t = turn{p: p, tx: tx, at: at, now: now, wf: wf, work: t.work[:0], fresh: t.fresh[:0], queued: t.queued[:0], openings: t.openings[:0]}
	t.load()
	return t
}

// conclusion is what the events of a record come to, right behind it.
func (t *turn) conclusion(list []events.Event) machine.Outcome {
	if len(list) == 0 {
		return machine.Outcome{}
	}
	out := machine.Outcome{Events: list, Effects: t.effects(list), Due: t.due(list)}
	if t.in.Source == events.FromCommands {
		out.Answer = t.reply(list)
	}
	return out
}

// load finds the workflow's rows; it runs again when a run starts or ends.
func (t *turn) load() {
	t.head = rows.Get[header](t.tx, headerKey(t.wf))
	t.owned, t.set, t.g = false, nil, nil
}

// h is the header for changing.
func (t *turn) h() *header {
	if !t.owned {
		t.head = rows.Change[header](t.tx, headerKey(t.wf))
		t.owned = true
	}
	return t.head
}

func (t *turn) setup() *setup {
	if t.set == nil {
		t.set = rows.Get[setup](t.tx, setupKey(t.wf))
	}
	return t.set
}

func (t *turn) graph() *definition.Graph {
	if t.g == nil {
		t.g = t.p.graph(t.tx, t.setup().Digest)
	}
	return t.g
}

func (t *turn) component(i uint32) *definition.Component { return t.graph().Components[i] }

func (t *turn) runnable(id events.RunnableID) *runnable {
	return rows.Get[runnable](t.tx, runnableKey(t.wf, id))
}

// usualEvents is how many events most records have: a completion, and what
// follows from it.
const usualEvents = 4

// emit records an event and changes the state by it.
func (t *turn) emit(e events.Event) {
	if t.events == nil {
		t.events = make([]events.Event, 0, usualEvents)
	}
	t.writes(e)
	t.events = append(t.events, e)
	t.apply(e)
}

func (t *turn) refuse(code, message string) { t.refuseAt(code, "", message) }

func (t *turn) refuseAt(code, path, message string) {
	name := ""
	if t.in.Command != nil {
		name = t.in.Command.Name
	}
	t.emit(&events.CommandRefused{Command: name, Code: code, Path: path, Message: message})
}

func (t *turn) ignore() { t.emit(&events.CommandIgnored{Command: t.in.Command.Name}) }

func (t *turn) nextFact() events.FactID         { return events.FactID(t.head.NextFact + 1) }
func (t *turn) nextRunnable() events.RunnableID { return events.RunnableID(t.head.NextRun + 1) }
