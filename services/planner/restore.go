package planner

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// State is where a workflow's rows are that is brought to rest.
type State interface {
	rows.Source
	Commit([]rows.Write)
}

// Rest brings a workflow to rest that nobody else has in hand, as of a position and a time behind its last record: what was in
// hand is carried on, and attempts that workers had are to be made again. resume: it ran, and has to be resumed to go on.
func (p *Planner) Rest(state State, id string, at events.Position, now int64) (resume bool, err error) {
	decide := func(in machine.Input) {
		at.Seq++
		tx := rows.Begin(state)
		in.Workflow = id
		p.Decide(tx, at, now, in)
		state.Commit(tx.Writes())
	}
	head := func() *header { return rows.Get[header](rows.Begin(state), headerKey(id)) }
	carryOn := func() {
		for h := head(); h != nil && h.inHand() > 0; h = head() {
			decide(machine.Input{Source: events.FromEngine, Continue: true})
		}
	}
	carryOn()
	h := head()
	switch {
	case h == nil:
		return false, errors.New("there is no run any more")
	case h.Status.closed(), h.Status != Running && h.Status != Stopping && h.Active == 0:
		return false, nil
	}
	resume = h.Status == Running
	if h.Status != Stopping {
		stop := &events.Command{Name: "stop", Body: &events.StopWorkflow{Drain: events.Duration(time.Millisecond)}}
		decide(machine.Input{Source: events.FromCommands, Command: stop})
		carryOn()
	}
	if h = head(); h.Status == Stopping {
		now = max(now, h.Until)
		k := timerKey(id, h.Until, 0, machine.TimerDrain)
		decide(machine.Input{Source: events.FromTimer, Timer: &k})
		carryOn()
		h = head()
	}
	if h.Status != Stopped {
		return false, fmt.Errorf("it is %s, and cannot be brought to rest", h.Status)
	}
	return resume, nil
}

// rowMakers make an empty row for each table of a workflow.
var rowMakers = map[rows.Table]func(rows.Key) rows.Row{
	rows.Header: func(k rows.Key) rows.Row {
		switch k.A {
		case 0:
			return &header{}
		case 1:
			return &setup{}
		default:
			return &formerContext{}
		}
	},
	rows.Fact: made[fact], rows.Runnable: made[runnable], rows.Join: made[join], rows.Arm: made[arm], rows.Scope: made[scope],
	rows.Ready: made[present], rows.Latest: made[latestRow], rows.Suppressed: made[suppression], rows.Page: made[factPage],
	rows.InHand: made[events.Work], rows.Elements: made[elements], rows.Fold: made[fold], rows.State: made[state],
	rows.Settled: made[settled], rows.Signal: made[keptSignal], rows.Match: made[present], rows.Watch: made[watch],
	rows.Racer: made[present], rows.Kept: made[keptRow], rows.Timer: made[machine.Timer],
}

func made[T any, P wire.Pointer[T]](rows.Key) rows.Row { return P(new(T)) }

// rowOf reads a row of a workflow that was restored.
func rowOf(workflow string, r *events.RestoredRow) (rows.Key, rows.Row, error) {
	k, err := rows.ParseKey(r.Key)
	if err != nil {
		return k, nil, err
	}
	make, known := rowMakers[k.Table]
	if !known || k.Workflow != workflow || k.Owner() != workflow {
		return k, nil, fmt.Errorf("the key %v is none of a row of %s", k, workflow)
	}
	row := make(k)
	if err := wire.Unmarshal(slices.Clone(r.Value), row); err != nil {
		return k, nil, fmt.Errorf("the row at %v: %w", k, err)
	}
	return k, row, nil
}

// restore takes a run over that was kept elsewhere. What cannot be one changes nothing, as if it had not come.
func (t *turn) restore(m *events.RunRestore) {
	if t.head != nil || t.checkRestored(m) != nil {
		return
	}
	t.emit(&events.WorkflowRestored{Run: m.Run, Definitions: m.Definitions, Rows: m.Rows, By: m.By})
	if m.Resume && t.head.Status == Stopped {
		t.resume(&events.ResumeWorkflow{By: m.By})
	}
}

// checkRestored says what is wrong with a run that is to be restored.
func (t *turn) checkRestored(m *events.RunRestore) error {
	digests := map[string]bool{}
	for i := range m.Definitions {
		d, err := definition.Parse(m.Definitions[i].Canonical)
		if err == nil {
			_, err = definition.Compile(d)
		}
		if err != nil || d.Digest != m.Definitions[i].Digest {
			return fmt.Errorf("the definition %s: %w", m.Definitions[i].Digest, errors.Join(err, errOtherDigest))
		}
		digests[d.Digest] = true
	}
	var h *header
	var s *setup
	for i := range m.Rows {
		_, row, err := rowOf(t.id, &m.Rows[i])
		if err != nil {
			return err
		}
		switch row := row.(type) {
		case *header:
			h = row
		case *setup:
			s = row
		}
	}
	if h == nil || s == nil || h.Status < Running || h.Status > Cancelled || h.inHand() > 0 {
		return errNotWhole
	}
	for _, digest := range s.digests() {
		if !digests[digest] {
			return errNotWhole
		}
	}
	return nil
}

var (
	errOtherDigest = errors.New("its digest is another one")
	errNotWhole    = errors.New("its rows are no run at rest")
)

// restored puts the rows of a run where they belong. It is a run of this partition from here on: nobody who waited for
// the other one waits here, and it is kept for as long as one that has just come to rest.
func (w *workflow) restored(e *events.WorkflowRestored) {
	for i := range e.Definitions {
		d := &e.Definitions[i]
		if rows.Get[definitionRow](w.tx, definitionKey(d.Digest)) == nil {
			w.tx.Put(definitionKey(d.Digest), &definitionRow{Canonical: d.Canonical})
		}
	}
	for i := range e.Rows {
		k, row, err := rowOf(w.id, &e.Rows[i])
		if err != nil {
			panic("a restored row that was checked: " + err.Error())
		}
		w.tx.Put(k, row)
	}
	w.load()
	if w.head.Status != Stopping {
		w.disarm()
	}
	h := w.h()
	h.Run, h.Waiters, h.Told, h.Rest = w.at, nil, nil, nil
	set := w.changeSetup()
	if set.Origin == nil {
		run := e.Run
		set.Origin = &run
	}
	for _, digest := range set.digests() {
		rows.Change[pins](w.tx, pinsKey(digest)).Runs++
	}
}
