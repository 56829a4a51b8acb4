package notice_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/services/planner"
	"github.com/heddle-run/heddle/services/planner/notice"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/rows/rowstest"
	"github.com/heddle-run/heddle/shared/wire"
)

// world hosts workflows and their notices as a partition does, in memory: messages come in any
// order, and the state is folded again of the journal at times.
type world struct {
	t       *testing.T
	rnd     *rand.Rand
	m       machine.Kinds
	state   rows.Memory
	journal [][]byte
	seq     uint64
	now     int64

	messages []message
	had      map[string]bool // messages, as the receiver's partition knows them
	calls    []call          // open
	took     []string        // ids, as the receiver first had each
	drains   []string        // ids, as the workflows decided them
	heard    []machine.Told  // of calls, as telemetry is told
	hasty    int             // timers that did not wait for messages
	ends     func() *events.TaskOutcome
}

type message struct {
	to string
	m  *events.EntityMessage
}

// call is an attempt that an executor has.
type call struct {
	entity string
	drain  events.RunnableID
	task   events.Task
}

var key = events.Key("0123456789abcdef")

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), now: 1_000_000, had: map[string]bool{}}
	w.m = machine.Kinds{
		Workflows: planner.New(planner.Config{Key: key, Definitions: func(string) ([]byte, bool) { return nil, false }}),
		Others:    map[string]machine.Machine{notice.Kind: notice.New(key)},
	}
	w.ends = func() *events.TaskOutcome { return &events.TaskOutcome{Outcome: events.OutcomeCompleted} }
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// decide decides an input, checks that its record gives the same when it is replayed, and
// takes its effects.
func (w *world) decide(in machine.Input) []events.Event {
	w.t.Helper()
	tx := rows.Begin(&w.state)
	at := events.Position{Epoch: 1, Seq: w.seq + 1}
	out := w.m.Decide(tx, at, w.now, in)
	if len(out.Events) == 0 {
		if len(tx.Writes()) > 0 {
			w.t.Fatalf("no events but writes: %v", tx.Writes())
		}
		return nil
	}
	w.seq++
	rec := &events.Record{Position: at, Workflow: in.Workflow, Time: w.now, Events: out.Events, ReplyTo: in.ReplyTo}
	rec.Input.Source = in.Source
	raw := events.EncodeRecord(rec)
	effects := slices.Clone(out.Effects)
	again := rows.Begin(&w.state)
	back, err := events.DecodeRecord(raw)
	w.must(err)
	replayed := w.m.Apply(again, back, false)
	if got, want := rowstest.Writes(again.Writes()), rowstest.Writes(tx.Writes()); got != want {
		w.t.Fatalf("replaying %s gives other rows:\n%s\nlive:\n%s", at, got, want)
	}
	if len(effects)+len(replayed.Effects) > 0 && !reflect.DeepEqual(replayed.Effects, effects) {
		w.t.Fatalf("replaying %s gives other effects:\n%+v\nlive:\n%+v", at, replayed.Effects, effects)
	}
	for _, t := range w.m.Tell(rows.Begin(&w.state), tx, rec, false, nil) {
		if t.Notice != "" {
			w.heard = append(w.heard, t)
		}
	}
	w.state.Commit(tx.Writes())
	w.journal = append(w.journal, raw)
	for i, e := range effects {
		w.effect(rec, uint64(i), e)
	}
	return out.Events
}

func (w *world) effect(rec *events.Record, number uint64, e machine.Effect) {
	w.t.Helper()
	switch e.Kind {
	case machine.MessageEffect:
		m := &events.EntityMessage{From: rec.Workflow, Decided: rec.Position, Number: number, Written: rec.Time, Body: e.Value}
		w.messages = append(w.messages, message{e.Key, m})
	case machine.TaskEffect:
		c := call{entity: e.Key, drain: e.Runnable}
		w.must(wire.Unmarshal(e.Value, &c.task))
		w.calls = append(w.calls, c)
		w.remade(c, e)
	case machine.NoticeEffect:
		var n events.Completion
		if len(e.Value) > 0 {
			w.must(json.Unmarshal(e.Value, &n))
			w.drains = append(w.drains, n.ID)
		}
	default: // replies and summaries
	}
}

// remade checks that the task of an open attempt comes to the same again.
func (w *world) remade(c call, e machine.Effect) {
	w.t.Helper()
	tx := rows.Begin(&w.state)
	a := rows.Get[machine.Attempt](tx, rows.Key{Table: rows.Runnable, Workflow: c.entity, A: uint64(c.drain)})
	again, ok := w.m.Task(tx, c.entity, a, c.drain)
	if !ok || !reflect.DeepEqual(again, e) {
		w.t.Fatalf("the task of %s, drain %d, comes to %+v again, want %+v", c.entity, c.drain, again, e)
	}
}

// fold forgets all state and folds the journal from its beginning, or from the middle of what
// is removed since.
func (w *world) fold() {
	w.t.Helper()
	var state rows.Memory
	for _, raw := range w.journal {
		rec, err := events.DecodeRecord(raw)
		w.must(err)
		tx := rows.Begin(&state)
		w.m.Apply(tx, rec, true)
		state.Commit(tx.Writes())
	}
	if got, want := rowstest.Memory(&state), rowstest.Memory(&w.state); got != want {
		w.t.Fatalf("the folded journal gives\n%s\nlive:\n%s", got, want)
	}
	from := w.rnd.IntN(len(w.journal) + 1)
	for _, raw := range w.journal[from:] { // over rows that have it all
		rec, err := events.DecodeRecord(raw)
		w.must(err)
		tx := rows.Begin(&w.state)
		w.m.Apply(tx, rec, true)
		w.state.Commit(tx.Writes())
	}
	if got, want := rowstest.Memory(&w.state), rowstest.Memory(&state); got != want {
		w.t.Fatalf("replaying from record %d over the state gives\n%s\nwant:\n%s", from, got, want)
	}
}

func (w *world) command(id, name, body string) {
	w.t.Helper()
	headers := []events.Header{{Key: events.HeaderID, Value: []byte(fmt.Sprint("c", w.seq))}, {Key: events.HeaderType, Value: []byte(events.CommandType(name))}}
	cmd, wrong := events.ParseCommand([]byte(id), headers, []byte(body), "place")
	if wrong != nil {
		w.t.Fatal(wrong)
	}
	for _, e := range w.decide(machine.Input{Workflow: id, Source: events.FromCommands, Command: cmd}) {
		if r, is := e.(*events.CommandRefused); is {
			w.t.Fatalf("%s of %s is refused: %+v", name, id, r)
		}
	}
}

// deliver brings the i-th message that is on its way.
func (w *world) deliver(i int) {
	w.t.Helper()
	m := w.messages[i]
	w.messages = slices.Delete(w.messages, i, i+1)
	w.bring(m, false)
}

func (w *world) bring(m message, late bool) {
	w.t.Helper()
	id := m.to + "<" + m.m.DedupeID()
	if w.had[id] && !late {
		return
	}
	if evs := w.decide(machine.Input{Workflow: m.to, Source: events.FromInbox, Inbox: m.m, Late: late}); len(evs) > 0 {
		w.had[id] = true
	}
}

// answer ends the i-th open call.
func (w *world) answer(i int) {
	w.t.Helper()
	c := w.calls[i]
	w.calls = slices.Delete(w.calls, i, i+1)
	o := w.ends()
	if o == nil {
		w.decide(machine.Input{Workflow: c.entity, Source: events.FromEngine, Lost: &machine.Lost{Runnable: c.drain, Attempt: c.task.Attempt, Reason: "its executor vanished"}})
		return
	}
	if (o.Outcome == events.OutcomeCompleted || w.rnd.IntN(4) == 0) && !slices.Contains(w.took, c.task.IdempotencyKey) {
		w.took = append(w.took, c.task.IdempotencyKey) // whatever the executor says of it
	}
	o.Token = c.task.Token
	in := machine.Input{Workflow: c.entity, Source: events.FromInbox, Inbox: o}
	w.decide(in)
	if evs := w.decide(in); len(evs) > 0 {
		w.t.Fatalf("a repeated outcome made %s", events.Name(evs[0]))
	}
}

// fire fires the next timer; false: there is none.
func (w *world) fire() bool {
	w.t.Helper()
	var due *rows.Key
	w.state.Scan(rows.Key{Table: rows.Timer}, nil, func(k rows.Key, _ rows.Row) bool {
		if k.C == machine.TimerNotice {
			due = &k
		}
		return due == nil
	})
	if due == nil {
		return false
	}
	w.now = max(w.now, int64(due.A))
	w.decide(machine.Input{Workflow: due.Workflow, Source: events.FromTimer, Timer: due})
	return true
}

// settle lets everything happen that is going to.
func (w *world) settle() {
	w.t.Helper()
	for n := 0; ; n++ {
		switch {
		case n > 100_000:
			w.t.Fatal("it does not come to rest")
		case len(w.messages) > 0:
			w.deliver(w.rnd.IntN(len(w.messages)))
		case len(w.calls) > 0:
			w.answer(w.rnd.IntN(len(w.calls)))
		case !w.fire():
			return
		}
	}
}

// left are the rows of notices.
func (w *world) left() (all []string) {
	for _, k := range w.state.Keys() {
		if strings.HasPrefix(k.Workflow, events.NoticePrefix) {
			all = append(all, fmt.Sprint(k))
		}
	}
	return all
}

func (w *world) summary(id string) events.Summary {
	w.t.Helper()
	r := w.m.Query(rows.Begin(&w.state), w.now, &events.Query{Kind: "workflow", Workflow: id})
	var s events.Summary
	w.must(json.Unmarshal(r.Body, &s))
	return s
}

func (w *world) inputOf(m message) machine.Input {
	return machine.Input{Workflow: m.to, Source: events.FromInbox, Inbox: m.m}
}
