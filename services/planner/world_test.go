package planner

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/rows/rowstest"
	"github.com/heddle-run/heddle/shared/wire"
)

// setting is what must not matter for results.
type setting struct {
	name        string
	seed        uint64 // of the order in which attempts end; 0 = first in, first out
	concurrency int    // of every workflow; 0 = as given
	restart     bool   // state is rebuilt from the journal after every record
	duplicate   bool   // every outcome is delivered twice
	async       bool
	budget      machine.Budget
}

// failer is what the world needs of a test.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// world drives a planner as the partition log and workers do, in memory.
type world struct {
	telling bool
	heard   []machine.Told // what telemetry would be told, if telling

	t       failer
	set     setting
	rnd     *rand.Rand
	p       *Planner
	state   rows.Memory
	journal [][]byte
	seq     uint64
	epoch   uint64
	now     int64

	limit     int   // bytes of a record; 0: all fit
	records   []int // events of each record
	held      bool  // what is left in hand stays there until w.goesOn
	budget    machine.Budget
	maxActive int
	idle      bool                      // workers neither take nor report
	tasks     []events.Task             // published attempts
	spreads   []uint64                  // of all that were published
	published map[string]machine.Effect // the first task of each token
	cancelled map[string]bool
	calls     map[string]int      // by task and workflow: how often it ran
	keysOf    map[string][]string // likewise: the idempotency keys of each time
	last      *events.TaskOutcome // that was delivered
	vanished  []events.Task       // whose workers have vanished
	cancels   []events.TaskCancel // that workers were told
	endings   []machine.Ended     // of deliveries, in their order
	over      map[string]bool     // tokens of these
	active    int
	peak      int
	replies   []events.Reply
	statuses  []string
	notices   []events.Completion // on the status topic
	emitted   []machine.Effect    // into topics of others
	told      []machine.Effect    // to other entities
	keys      rows.Memory         // of the entities that grant permits
	keySeq    uint64              // of their records
	granted   []message           // by them, and not delivered yet
	slow      bool                // it is not delivered by itself
	defs      map[string]string
}

func newWorld(t failer, s setting) *world {
	w := &world{t: t, set: s, epoch: 1, now: 1_000_000, defs: map[string]string{}}
	w.published, w.cancelled, w.calls, w.keysOf, w.over = map[string]machine.Effect{}, map[string]bool{}, map[string]int{}, map[string][]string{}, map[string]bool{}
	w.rnd = rand.New(rand.NewPCG(s.seed, 7))
	w.budget = s.budget
	w.p = w.planner()
	return w
}

// decide decides one input as the partition does, and goes on with what that leaves in
// hand. It returns the events of all records.
func (w *world) decide(in machine.Input) []events.Event {
	w.t.Helper()
	evs, inHand := w.piece(in)
	for inHand && !w.held {
		var more []events.Event
		more, inHand = w.goesOn(in.Workflow)
		evs = append(slices.Clone(evs), more...)
	}
	w.deliverGrants()
	return evs
}

// goesOn decides the next piece of what a workflow has in hand.
func (w *world) goesOn(id string) (evs []events.Event, inHand bool) {
	w.t.Helper()
	if len(w.records) > 1_000_000 {
		w.t.Fatal("there is no end of what is in hand")
	}
	return w.piece(machine.Input{Workflow: id, Source: events.FromEngine, Continue: true})
}

// piece decides one record, and checks that replaying it gives the same rows and effects.
func (w *world) piece(in machine.Input) ([]events.Event, bool) {
	w.t.Helper()
	tx := rows.Begin(&w.state)
	at := events.Position{Epoch: w.epoch, Seq: w.seq + 1}
	out := w.made(tx, at, in)
	evs := out.Events
	if len(evs) == 0 {
		if len(tx.Writes()) > 0 {
			w.t.Fatalf("no events but %d writes", len(tx.Writes()))
		}
		if in.Continue {
			w.t.Fatal("nothing was in hand")
		}
		return nil, false
	}
	w.seq++
	w.records = append(w.records, len(evs))
	rec := &events.Record{Position: at, Workflow: in.Workflow, Time: w.now, Events: evs, ReplyTo: in.ReplyTo, Trace: in.Trace}
	rec.Input.Source = in.Source
	raw := events.EncodeRecord(rec)
	effects, ended := slices.Clone(out.Effects), slices.Clone(out.Ended)
	w.replayEqual(raw, tx.Writes(), out)
	if w.telling {
		w.heard = w.p.Tell(rows.Begin(&w.state), tx, rec, true, w.heard)
	}
	w.state.Commit(tx.Writes())
	w.journal = append(w.journal, raw)
	if in.Command != nil {
		reply := out.Answer
		reply.ID, reply.Command = in.Command.ID, in.Command.Name
		told := events.Reply{Followed: reply.Followed}
		w.must(json.Unmarshal(events.EncodeReply(&reply), &told))
		w.replies = append(w.replies, told)
	}
	if w.set.restart {
		w.restart()
	}
	for _, e := range effects {
		w.effect(in.Workflow, e)
	}
	w.ended(ended)
	if h, _ := w.state.Get(headerKey(in.Workflow), nil).(*header); (h != nil && h.inHand() > 0) != out.InHand {
		w.t.Fatalf("the outcome says that something is in hand: %t; the header: %+v", out.InHand, h)
	}
	return evs, out.InHand
}

// made is what the planner decides, or what it does when that fits no record.
func (w *world) made(tx *rows.Tx, at events.Position, in machine.Input) machine.Outcome {
	out := w.p.Decide(tx, at, w.now, in)
	if w.limit > 0 && len(events.EncodeRecord(&events.Record{Workflow: in.Workflow, Events: out.Events})) > w.limit {
		tx.Reset()
		in.Limit = w.limit
		out = w.p.Decide(tx, at, w.now, in)
	}
	return out
}

// replayEqual folds the encoded record over the state before it.
func (w *world) replayEqual(raw []byte, live []rows.Write, want machine.Outcome) {
	w.t.Helper()
	rec, err := events.DecodeRecord(raw)
	if err != nil {
		w.t.Fatal(err)
	}
	tx := rows.Begin(&w.state)
	want.Effects, want.Ended = slices.Clone(want.Effects), slices.Clone(want.Ended) // the machine is called again
	out := w.p.Apply(tx, rec, false)
	if got, want := rowstest.Writes(tx.Writes()), rowstest.Writes(live); got != want {
		w.t.Fatalf("replaying %s gives other rows:\n--- live\n%s--- replayed\n%s", rec.Position, want, got)
	}
	if len(out.Effects)+len(want.Effects) > 0 && !reflect.DeepEqual(out.Effects, want.Effects) {
		w.t.Fatalf("replaying %s gives other effects:\n--- live\n%+v\n--- replayed\n%+v", rec.Position, want.Effects, out.Effects)
	}
	if !slices.Equal(out.Ended, want.Ended) {
		w.t.Fatalf("replaying %s ends other deliveries:\n--- live\n%+v\n--- replayed\n%+v", rec.Position, want.Ended, out.Ended)
	}
	if !reflect.DeepEqual(out.Answer, want.Answer) || out.Due != want.Due || out.InHand != want.InHand {
		w.t.Fatalf("replaying %s gives another answer, or is due otherwise:\n--- live\n%+v %t\n--- replayed\n%+v %t", rec.Position, want.Answer, want.Due, out.Answer, out.Due)
	}
}

// restart forgets all state and folds the journal from its beginning.
func (w *world) restart() {
	w.t.Helper()
	before := w.fingerprint()
	w.state = rows.Memory{}
	w.p = w.planner()
	for _, raw := range w.journal {
		rec, err := events.DecodeRecord(raw)
		if err != nil {
			w.t.Fatal(err)
		}
		tx := rows.Begin(&w.state)
		w.p.Apply(tx, rec, true)
		w.state.Commit(tx.Writes())
	}
	if after := w.fingerprint(); after != before {
		w.t.Fatalf("the folded journal gives another state:\n--- live\n%s--- folded\n%s", before, after)
	}
}

func (w *world) fingerprint() string {
	return rowstest.Memory(&w.state)
}

func (w *world) effect(from string, e machine.Effect) {
	w.t.Helper()
	switch e.Kind {
	case machine.TaskEffect:
		var task events.Task
		w.must(wire.Unmarshal(e.Value, &task))
		w.tasks = append(w.tasks, task)
		w.spreads = append(w.spreads, e.Spread)
		w.active++
		w.peak = max(w.peak, w.active)
		w.published[string(task.Token)] = e
		w.remakesTask(e.Key, e.Runnable)
	case machine.CancelEffect:
		var c events.TaskCancel
		w.must(wire.Unmarshal(e.Value, &c))
		w.cancelled[string(c.Token)] = true
		w.cancels = append(w.cancels, c)
	case machine.ReplyEffect:
		var r events.Reply
		w.must(json.Unmarshal(e.Value, &r))
		w.replies = append(w.replies, r)
	case machine.StatusEffect:
		var s events.Summary
		if len(e.Value) > 0 {
			w.must(json.Unmarshal(e.Value, &s))
		}
		w.statuses = append(w.statuses, s.Status)
	case machine.NoticeEffect:
		var n events.Completion
		if len(e.Value) > 0 {
			w.must(json.Unmarshal(e.Value, &n))
		}
		w.notices = append(w.notices, n)
	case machine.EmitEffect:
		w.emitted = append(w.emitted, e)
	case machine.MessageEffect:
		w.told = append(w.told, e)
		w.tellEntity(from, e)
	default:
		w.t.Fatalf("unexpected effect %d", e.Kind)
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// command sends a command; it returns the reply to it.
func (w *world) command(id, name string, body string) events.Reply {
	w.t.Helper()
	headers := []events.Header{{Key: events.HeaderID, Value: []byte(fmt.Sprintf("c%d", w.seq))}, {Key: events.HeaderType, Value: []byte(events.CommandType(name))}}
	cmd, cerr := events.ParseCommand([]byte(id), headers, []byte(body), "place")
	if cerr != nil {
		return events.Reply{Result: events.ResultRefused, Refusal: &events.Refusal{Code: cerr.Code, Path: cerr.Path, Message: cerr.Message}}
	}
	n := len(w.replies)
	in := machine.Input{Workflow: id, Source: events.FromCommands, Command: cmd, ReplyTo: events.ReplyTo{Address: "me", ID: "q", Wait: true}}
	if len(w.decide(in)) == 0 {
		w.t.Fatalf("command %s made no record", name)
	}
	w.remakesAll(id)
	for _, r := range w.replies[n:] {
		if r.Kind == events.ReplyDecided {
			return r
		}
	}
	w.t.Fatalf("command %s was not answered", name)
	return events.Reply{}
}

// next takes the attempt that ends next.
func (w *world) next() (events.Task, bool) {
	if len(w.tasks) == 0 {
		return events.Task{}, false
	}
	i := 0
	if w.set.seed != 0 {
		i = w.rnd.IntN(len(w.tasks))
	}
	task := w.tasks[i]
	w.tasks = slices.Delete(w.tasks, i, i+1)
	w.active--
	return task, true
}

// step runs one published attempt and delivers its outcome.
func (w *world) step() bool {
	w.t.Helper()
	task, ok := w.next()
	if !ok {
		return false
	}
	if w.cancelled[string(task.Token)] {
		return true
	}
	w.deliver(w.execute(task))
	return true
}

func (w *world) deliver(out *events.TaskOutcome) {
	w.t.Helper()
	token, err := events.PeekToken(out.Token)
	w.must(err)
	w.decide(machine.Input{Workflow: token.Workflow, Source: events.FromInbox, Inbox: out})
	w.last = out
	if w.set.duplicate {
		w.again()
	}
}

// again delivers the last outcome once more, which must change nothing.
func (w *world) again() {
	w.t.Helper()
	token, err := events.PeekToken(w.last.Token)
	w.must(err)
	in := machine.Input{Workflow: token.Workflow, Source: events.FromInbox, Inbox: w.last}
	if evs := w.decide(in); len(evs) > 0 {
		w.t.Fatalf("a repeated outcome made %s", events.Name(evs[0]))
	}
}

// run delivers outcomes until none is left.
func (w *world) run() {
	w.t.Helper()
	for n := 0; w.step(); n++ {
		if n > 100_000 {
			w.t.Fatal("the workflow does not come to rest")
		}
	}
}

// advance moves the clock and fires the timers that come due, in order.
func (w *world) advance(ms int64) {
	w.t.Helper()
	until := w.now + ms
	for {
		due, ofKey := nextTimer(&w.state), nextTimer(&w.keys)
		if ofKey != nil && int64(ofKey.A) <= until && (due == nil || ofKey.A < due.A) {
			w.now = max(w.now, int64(ofKey.A))
			w.keyDecides(machine.Input{Workflow: ofKey.Workflow, Source: events.FromTimer, Timer: ofKey})
			w.deliverGrants()
			if !w.idle {
				w.run()
			}
			continue
		}
		if due == nil || int64(due.A) > until {
			break
		}
		w.now = max(w.now, int64(due.A))
		in := machine.Input{Workflow: due.Workflow, Source: events.FromTimer, Timer: due}
		if len(w.decide(in)) == 0 {
			w.t.Fatalf("the timer %v changed nothing", due)
		}
		if !w.idle {
			w.run()
		}
	}
	w.now = until
}

// nextTimer is the timer that is due next; nil: there is none.
func nextTimer(state *rows.Memory) (next *rows.Key) {
	state.Scan(rows.Key{Table: rows.Timer}, nil, func(k rows.Key, _ rows.Row) bool {
		next = &k
		return false
	})
	return next
}
