package planner

import (
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// workflow is one workflow as of one record: its header, what was given with it, and
// which knows its other rows.
type workflow struct {
	p   *Planner
	tx  *rows.Tx
	at  events.Position
	now int64 // Unix ms, the record's time
	id  string
	in  machine.Input // when deciding; else the one to answer

	head  *header // a private copy once changed; nil = unknown workflow
	owned bool    // head is the copy that this turn may change
	set   *setup
	g     *definition.Graph
	spend spending

	scopes   scopes
	queue    readyQueue
	joins    joins
	runs     runnables
	facts    facts
	states   states
	contexts contexts
	outputs  outputs
	hand     inHand
	folds    folds
	signals  signals
	view     view
	effects  effects

	givenBack []events.ReturnedPermit // that runnables have left behind in this record
	endings   []machine.Ended         // the deliveries that this record ends; reused
	closed    []events.OpenAttempt    // that this record cancels
}

// Each of these knows rows of its own, and the workflow that they are of.
type (
	// scopes are the inputs that have not settled.
	scopes struct {
		*workflow
		openings []opening // those that this record touched
	}
	// readyQueue is the admission queue.
	readyQueue struct {
		*workflow
		fresh  []readyEntry // became ready in this record
		queued []readyEntry // are in the queue, but their rows are not written yet
	}
	// joins are components that wait for several facts of a scope.
	joins struct{ *workflow }
	// runnables are activations that have not completed, with their attempts and timers.
	runnables struct{ *workflow }
	// facts are the values that exist.
	facts struct{ *workflow }
	// contexts are what components see beside what arrives.
	contexts struct {
		*workflow
		lastMerge merge // in this decision
	}
	// outputs are the newest facts that results show.
	outputs struct{ *workflow }
	// folds are reduces that have begun.
	folds struct{ *workflow }
	// view is what others are shown. It changes nothing.
	view struct{ *workflow }
	// effects are what follows from events outside of the state.
	effects struct{ *workflow }
)

// turn is the work on one record for one workflow: deciding it or applying it.
type turn struct {
	workflow
	events []events.Event

	pieces pieces
	flow   flow
	ends   ends
	intake intake
}

// What a decision is made of.
type (
	// flow brings facts and deaths along the edges to components.
	flow struct{ *turn }
	// ends are what outcomes, losses and timeouts of attempts come to.
	ends struct{ *turn }
	// intake checks what commands bring along.
	intake struct{ *turn }
)

// bind ties the parts of the planner's one turn together, once: it is used for every
// record, since a step would else allocate one for each of its parts.
func (t *turn) bind(p *Planner) {
	w := &t.workflow
	w.p = p
	w.scopes.workflow, w.queue.workflow, w.joins.workflow, w.runs.workflow, w.facts.workflow = w, w, w, w, w
	w.contexts.workflow, w.outputs.workflow, w.hand.workflow, w.view.workflow, w.effects.workflow, w.signals.workflow = w, w, w, w, w, w
	w.folds.workflow = w
	w.states.workflow = w
	t.pieces.turn, t.flow.turn, t.ends.turn, t.intake.turn = t, t, t, t
}

// begin makes the turn ready for a record.
func (p *Planner) begin(tx *rows.Tx, at events.Position, now int64, id string) *turn {
	t := &p.turn
	t.tx, t.at, t.now, t.id = tx, at, now, id
	t.in, t.spend, t.events, t.givenBack = machine.Input{}, spending{}, nil, nil
	t.closed, t.endings = nil, t.endings[:0]
	t.scopes.openings = t.scopes.openings[:0]
	t.queue.fresh, t.queue.queued = t.queue.fresh[:0], t.queue.queued[:0]
	t.contexts.lastMerge, t.states.turns = merge{}, t.states.turns[:0]
	ps := &t.pieces
	ps.done, ps.first, ps.begun, ps.own, ps.next = 0, events.Work{}, false, ps.own[:0], 0
	t.load()
	return t
}

// conclusion is what the events of a record come to, right behind it.
func (fx *effects) conclusion(list []events.Event) machine.Outcome {
	if len(list) == 0 {
		return machine.Outcome{}
	}
	out := machine.Outcome{Events: list, Effects: fx.of(list), Ended: fx.endings, Due: fx.due(list), InHand: fx.head != nil && fx.head.inHand() > 0}
	if fx.in.Source == events.FromCommands {
		out.Answer = fx.reply(list)
	}
	return out
}

// load finds the workflow's rows; it runs again when a run starts or ends.
func (w *workflow) load() {
	w.head = rows.Get[header](w.tx, headerKey(w.id))
	w.owned, w.set, w.g = false, nil, nil
}

// h is the header for changing.
func (w *workflow) h() *header {
	if !w.owned {
		w.head = rows.Change[header](w.tx, headerKey(w.id))
		w.owned = true
	}
	return w.head
}

// exists reports whether there is a run, for those outside.
func (w *workflow) exists() bool { return w.head != nil && w.head.Status != Deleting }

func (w *workflow) setup() *setup {
	if w.set == nil {
		w.set = rows.Get[setup](w.tx, setupKey(w.id))
	}
	return w.set
}

// changeSetup is what was given with the workflow, for changing.
func (w *workflow) changeSetup() *setup {
	w.set = rows.Change[setup](w.tx, setupKey(w.id))
	return w.set
}

func (w *workflow) graph() *definition.Graph {
	if w.g == nil {
		w.g = w.p.graphOf(w.tx, w.setup())
	}
	return w.g
}

func (w *workflow) component(i uint32) *definition.Component { return w.graph().Components[i] }

// usualEvents is how many events most records have: a completion, and what
// follows from it.
const usualEvents = 4

// emit records an event and changes the state by it.
func (t *turn) emit(e events.Event) {
	if t.events == nil {
		t.events = make([]events.Event, 0, usualEvents)
	}
	t.spend.writes(e)
	t.events = append(t.events, e)
	limited := t.spend.limited
	t.spend.limited = false // what follows is the same when the event is replayed
	t.apply(e)
	t.spend.limited = limited
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

func (t *turn) nextFact() events.FactID { return events.FactID(t.head.NextFact + 1) }

func (t *turn) nextRunnable() events.RunnableID { return events.RunnableID(t.head.NextRun + 1) }
