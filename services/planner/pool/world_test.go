package pool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/rows/rowstest"
	"github.com/heddle-run/heddle/shared/wire"
)

const id = "pool:images"

// fataler is what a test or a rapid walk fails by.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world hosts one pool as a partition does. Its workflows, executors and runners are the test.
type world struct {
	t     fataler
	m     *Machine
	id    string
	state rows.Memory
	seq   uint64
	now   int64
	all   []*events.Record
	sent  []events.RunnerCommands // to executors, oldest first
	said  []said                  // to workflows, oldest first
	conns uint64
}

type said struct {
	to string
	events.PoolMessage
}

func newWorld(t fataler, o Options) *world {
	return &world{t: t, id: id, m: New(Settings{Pools: map[string]Options{"images": o}}), now: 1_000_000}
}

// decide decides an input, and holds that its record gives the same when it is replayed, and what always holds.
func (w *world) decide(in machine.Input) []events.Event {
	w.t.Helper()
	tx, again := rows.Begin(&w.state), rows.Begin(&w.state)
	at := events.Position{Epoch: 1, Seq: w.seq + 1}
	in.Workflow = w.id
	out := w.m.Decide(tx, at, w.now, in)
	if len(out.Events) == 0 {
		if len(out.Effects) > 0 {
			w.t.Fatalf("effects without a record: %+v", out.Effects)
		}
		return nil
	}
	w.seq++
	rec, err := events.DecodeRecord(events.EncodeRecord(&events.Record{Position: at, Workflow: w.id, Time: w.now, Events: out.Events}))
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	replayed := w.m.Apply(again, rec, false)
	if got, want := rowstest.Writes(again.Writes()), rowstest.Writes(tx.Writes()); got != want {
		w.t.Fatalf("replaying %s gives other rows:\n%s\nlive:\n%s", at, got, want)
	}
	if !reflect.DeepEqual(replayed.Effects, out.Effects) {
		w.t.Fatalf("replaying %s gives other effects:\n%+v\nlive:\n%+v", at, replayed.Effects, out.Effects)
	}
	w.state.Commit(tx.Writes())
	w.all = append(w.all, rec)
	for _, e := range out.Effects {
		w.effect(e)
	}
	w.holds()
	w.inOrder(out.Events)
	return out.Events
}

func (w *world) effect(e machine.Effect) {
	switch e.Kind {
	case machine.RunnerEffect:
		m, err := events.DecodeRunnerCommands(e.Value)
		if err != nil || m.Runner != e.Key || e.Key == "" {
			w.t.Fatalf("%+v, %v", m, err)
		}
		w.sent = append(w.sent, *m)
	case machine.MessageEffect:
		s := said{to: e.Key}
		if err := wire.Unmarshal(e.Value, &s.PoolMessage); err != nil {
			w.t.Fatalf("%v", err)
		}
		w.said = append(w.said, s)
	default:
		w.t.Fatalf("an effect of kind %d", e.Kind)
	}
}

// turn reads the state.
func (w *world) turn() *turn {
	return w.m.begin(rows.Begin(&w.state), events.Position{}, w.now, w.id)
}

// holds checks what is true behind every record.
func (w *world) holds() {
	w.t.Helper()
	t := w.turn()
	h := t.head
	if h == nil {
		if n := len(w.state.Keys()); n > 0 {
			w.t.Fatalf("a pool that is gone has %d rows: %v", n, w.state.Keys())
		}
		return
	}
	queued, given, used := uint64(0), uint64(0), map[uint64]uint32{}
	rows.Scan(t.tx, workKey(w.id, 0), func(k rows.Key, a *work) bool {
		if a.Session == 0 {
			queued++
		} else {
			given++
			used[a.Session]++
		}
		if t.numberOf(byToken, string(a.Token)) != k.A {
			w.t.Fatalf("attempt %d is not found by its token", k.A)
		}
		return true
	})
	if queued != h.Queued || given != h.Given {
		w.t.Fatalf("%d are queued and %d have slots, the pool counts %d and %d", queued, given, h.Queued, h.Given)
	}
	alive, counted := uint64(0), counts{}
	rows.Scan(t.tx, sessionKey(w.id, 0), func(k rows.Key, s *session) bool {
		if s.Used > s.Slots || s.Used != used[k.A] || len(t.held(k.A)) != int(s.Used) {
			w.t.Fatalf("runner %d has %d slots, uses %d, and %d attempts have one (%v)", k.A, s.Slots, s.Used, used[k.A], t.held(k.A))
		}
		counted.add(s, 1)
		if s.State != stopped {
			alive++
		} else if s.Used > 0 {
			w.t.Fatalf("runner %d is over and has %d attempts", k.A, s.Used)
		}
		if listed := rows.Get[nothing](t.tx, placeKey(w.id, s, k.A)) != nil; listed != (s.State == connected && !s.Away) || listed != s.Listed {
			w.t.Fatalf("runner %d is %s, and listed for allocation: %t", k.A, s.State, listed)
		}
		return true
	})
	if counted != h.Runners {
		w.t.Fatalf("there are %+v runners, the pool counts %+v", counted, h.Runners)
	}
	if alive != h.Alive {
		w.t.Fatalf("%d runners are not over, the pool counts %d", alive, h.Alive)
	}
	if n, s := t.best(); s != nil && h.Queued > 0 && h.Due != w.now {
		w.t.Fatalf("%d attempts wait, runner %d has a free slot, and nothing will give it", h.Queued, n)
	}
}

// inOrder holds that nothing waits that is before what was given.
func (w *world) inOrder(list []events.Event) {
	t := w.turn()
	for _, e := range list {
		given, is := e.(*events.WorkGiven)
		if !is {
			continue
		}
		if a := t.work(given.Number); a != nil {
			rows.Scan(t.tx, rows.Key{Table: rows.Ready, Workflow: w.id}, func(key rows.Key, _ *nothing) bool {
				if key.A < uint64(a.Rank) || key.A == uint64(a.Rank) && key.B < given.Number {
					w.t.Fatalf("attempt %d was given a slot before attempt %d, which waits", given.Number, key.B)
				}
				return false
			})
		}
	}
}

// fire lets the pool's timer come due; false: it has none.
func (w *world) fire() bool {
	w.t.Helper()
	h := w.turn().head
	if h == nil || h.Due == 0 {
		return false
	}
	w.now = max(w.now, h.Due)
	k := timerKey(w.id, h.Due)
	w.decide(machine.Input{Timer: &k})
	return true
}

// until lets all timers come due up to a time.
func (w *world) until(at int64) {
	w.t.Helper()
	for {
		h := w.turn().head
		if h == nil || h.Due == 0 || h.Due > at {
			break
		}
		w.fire()
	}
	w.now = at
}

// token is that of attempt n of a workflow of the same number.
func token(n int) []byte {
	return events.Key("0123456789abcdef").Seal(events.Token{
		Workflow: fmt.Sprintf("w%d", n), Run: events.RunID{Epoch: 1, Seq: 1}, Runnable: 1, Attempt: 1, Decided: events.Position{Epoch: 1, Seq: uint64(n) + 1},
	})
}

func (w *world) hear(n int, m events.PoolMessage, late bool) []events.Event {
	w.t.Helper()
	m.Token = token(n)
	of, _ := events.PeekToken(m.Token)
	return w.decide(machine.Input{Late: late, Inbox: &events.EntityMessage{From: of.Workflow, Body: wire.Marshal(&m)}})
}

func (w *world) offer(ns ...int) {
	w.t.Helper()
	for _, n := range ns {
		w.offerAt(n, 1)
	}
}

func (w *world) offerAt(n int, rank uint8) []events.Event {
	w.t.Helper()
	return w.hear(n, events.PoolMessage{Verb: events.PoolOffer, Rank: rank, Queue: "images", Task: []byte("task")}, false)
}

func (w *world) withdraw(n int) []events.Event {
	w.t.Helper()
	return w.hear(n, events.PoolMessage{Verb: events.PoolWithdraw}, false)
}

// runner is a process with a socket, as its executor has it.
type runner struct {
	w        *world
	hello    events.RunnerHello
	conn     events.Connection
	id       string
	session  uint64
	events   uint64                 // it has sent
	counted  uint64                 // of those, as it was welcomed
	commands []events.RunnerCommand // it has received, without repetitions
	sentOn   string                 // id of the shard that it was sent on to, the last time; empty: it was not
	received uint64
}

// connect connects a process under a key.
func (w *world) connect(key string, version, slots uint32) *runner {
	w.t.Helper()
	r := &runner{w: w, hello: events.RunnerHello{Key: key, Name: key, Version: version, Slots: slots, Instance: "of " + key}}
	return r.again("x")
}

// again connects it, on a new socket of an executor; nil: that was closed, or is sent on.
func (r *runner) again(executor string) *runner {
	r.w.t.Helper()
	r.w.conns++
	r.conn = events.Connection{Executor: executor, Number: r.w.conns}
	hello := r.hello
	hello.Received = r.received
	from := len(r.w.sent)
	r.w.decide(machine.Input{Inbox: &events.RunnerReport{Connection: r.conn, Hello: &hello}})
	for _, m := range r.w.sent[from:] {
		if m.Greet != "" && m.To == r.conn {
			r.sentOn = m.Greet
			return nil
		}
		if m.Close != "" && m.To == r.conn {
			return nil
		}
		if m.Welcome != nil && m.To == r.conn {
			if m.Runner != r.id {
				r.received, r.commands = 0, nil
			}
			r.id, r.session, r.counted = m.Runner, m.Welcome.Session, m.Welcome.Events
			r.events = max(r.events, r.counted)
			r.take(from)
			return r
		}
	}
	r.w.t.Fatalf("%s was not welcomed", r.hello.Key)
	return nil
}

// take takes what was sent to it from some place on.
func (r *runner) take(from int) (list []events.RunnerCommand) {
	for _, m := range r.w.sent[from:] {
		if m.To != r.conn || m.Runner != r.id {
			continue
		}
		for _, c := range m.Commands {
			if c.Index >= r.received {
				r.received = c.Index + 1
				r.commands = append(r.commands, c)
				list = append(list, c)
			}
		}
	}
	return list
}

func (r *runner) report(m events.RunnerReport) []events.Event {
	r.w.t.Helper()
	m.Connection, m.Runner, m.Session = r.conn, r.id, r.session
	return r.w.decide(machine.Input{Inbox: &m})
}

// says reports states of tasks.
func (r *runner) says(state events.TaskState, ns ...int) []events.Event {
	r.w.t.Helper()
	m := events.RunnerReport{}
	for _, n := range ns {
		m.Events = append(m.Events, events.RunnerEvent{Index: r.events, Token: token(n), State: state})
		r.events++
	}
	return r.report(m)
}

// view is the pool as it is shown.
func (w *world) view() (v events.PoolState) {
	w.t.Helper()
	r := w.m.Query(rows.Begin(&w.state), w.now, &events.Query{Kind: events.PoolQuery, Workflow: w.id})
	if r.Refusal != nil {
		return events.PoolState{}
	}
	if err := json.Unmarshal(r.Body, &v); err != nil {
		w.t.Fatalf("%v", err)
	}
	return v
}

// of is the state of a runner as it is shown.
func (w *world) of(r *runner) events.RunnerState {
	w.t.Helper()
	for _, s := range w.view().Runners {
		if s.ID == r.id {
			return s
		}
	}
	w.t.Fatalf("the runner %s is not listed", r.id)
	return events.RunnerState{}
}

// started are the attempts that a runner was told to begin, by their numbers.
func (r *runner) started() (all []int) {
	r.take(0)
	for _, c := range r.commands {
		if c.Stop == "" {
			all = append(all, number(c.Token))
		}
	}
	return all
}

// stopped are those that it was told to stop, with the reasons.
func (r *runner) stopped() (all []string) {
	r.take(0)
	for _, c := range r.commands {
		if c.Stop != "" {
			all = append(all, fmt.Sprintf("%d %s", number(c.Token), c.Stop))
		}
	}
	return all
}

func number(token []byte) int {
	of, err := events.PeekToken(token)
	if err != nil {
		return -1
	}
	return int(of.Decided.Seq) - 1
}

// told is what workflows were told, oldest first.
func (w *world) told() (all []string) {
	for _, s := range w.said {
		if s.Verb == events.PoolAsk || s.Verb == events.PoolSpare || s.Verb == events.PoolInquire {
			continue // shards are, or it is a question
		}
		all = append(all, fmt.Sprintf("%d %s", number(s.Token), map[events.PoolVerb]string{events.PoolLost: "lost", events.PoolReturn: "returned"}[s.Verb]))
	}
	return all
}

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) && !(reflect.ValueOf(got).Kind() == reflect.Slice && reflect.ValueOf(got).Len() == 0 && reflect.ValueOf(want).Len() == 0) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
