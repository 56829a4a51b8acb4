package limits

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/rows/rowstest"
	"github.com/heddle-run/heddle/shared/wire"
)

// world hosts one key as a partition does. Its workflows are the test.
type world struct {
	t     *testing.T
	kind  string // of the key; empty: concurrency
	id    string // of the key, where there are several
	state rows.Memory
	seq   uint64
	now   int64
	all   []*events.Record
	said  []said // to workflows, oldest first
}

type said struct {
	to string
	events.KeyMessage
}

var key = events.KeyOf(events.ConcurrencyKey, "k")

func (w *world) key() string {
	if w.id != "" {
		return w.id
	}
	if w.kind != "" {
		return events.KeyOf(w.kind, "k")
	}
	return key
}

// decide decides an input, and holds that its record gives the same when it is replayed.
func (w *world) decide(in machine.Input) []events.Event {
	w.t.Helper()
	tx, again := rows.Begin(&w.state), rows.Begin(&w.state)
	at := events.Position{Epoch: 1, Seq: w.seq + 1}
	in.Workflow = w.key()
	out := Machine{}.Decide(tx, at, w.now, in)
	if len(out.Events) == 0 {
		return nil
	}
	w.seq++
	rec, err := events.DecodeRecord(events.EncodeRecord(&events.Record{Position: at, Workflow: w.key(), Time: w.now, Events: out.Events}))
	if err != nil {
		w.t.Fatal(err)
	}
	replayed := Machine{}.Apply(again, rec, false)
	if got, want := rowstest.Writes(again.Writes()), rowstest.Writes(tx.Writes()); got != want || !reflect.DeepEqual(replayed.Effects, out.Effects) {
		w.t.Fatalf("replaying %s gives other rows or effects:\n%s\nlive:\n%s", at, got, want)
	}
	w.state.Commit(tx.Writes())
	after := rows.Begin(&w.state)
	if has, listed := rows.Get[head](after, headKey(w.key())) != nil, rows.Get[machine.Listed](after, machine.EntityKey(w.key())) != nil; has != listed {
		w.t.Fatalf("behind %s the key has rows: %t, is listed: %t", at, has, listed)
	}
	w.all = append(w.all, rec)
	for _, e := range out.Effects {
		s := said{to: e.Key}
		if err := wire.Unmarshal(e.Value, &s.KeyMessage); err != nil {
			w.t.Fatal(err)
		}
		w.said = append(w.said, s)
	}
	return out.Events
}

func (w *world) tell(verb events.KeyVerb, id events.PermitID, rank uint8, limit uint64) {
	w.t.Helper()
	w.tellOf(verb, id, rank, events.KeyLimit{Limit: limit})
}

func (w *world) tellOf(verb events.KeyVerb, id events.PermitID, rank uint8, limit events.KeyLimit) {
	w.t.Helper()
	w.hear(id, events.KeyMessage{Verb: verb, Rank: rank, Limit: limit})
}

// hear lets the key take what the workflow of a request says.
func (w *world) hear(id events.PermitID, m events.KeyMessage) {
	w.t.Helper()
	m.Runnable, m.Asked = id.Runnable, id.Asked
	w.decide(machine.Input{Source: events.FromInbox, Inbox: &events.EntityMessage{From: id.Workflow, Body: wire.Marshal(&m)}})
}

// fire lets the key's timer come due; false: it has none.
func (w *world) fire() bool {
	tx := rows.Begin(&w.state)
	h := rows.Get[head](tx, headKey(w.key()))
	if h == nil || h.Due == 0 {
		return false
	}
	w.now = max(w.now, h.Due)
	k := timerKey(w.key(), h.Due)
	w.decide(machine.Input{Timer: &k})
	return true
}

// granted are the requests that were granted, in order.
func (w *world) granted() (ids []uint64) {
	for _, s := range w.said {
		if s.Verb == events.KeyGrant {
			ids = append(ids, uint64(s.Runnable))
		}
	}
	return ids
}

// asks names the nth request.
func asks(n uint64) events.PermitID {
	return events.PermitID{Workflow: fmt.Sprintf("w%d", n%3), Runnable: events.RunnableID(n), Asked: events.Position{Epoch: 1, Seq: n}}
}

func TestPermitsAreGrantedByPriorityThenArrival(t *testing.T) {
	w := &world{t: t, now: 1000}
	for n, rank := range []uint8{2, 2, 3, 1, 2, 0} {
		w.tell(events.KeyAsk, asks(uint64(n+1)), rank, 1)
	}
	for _, n := range []uint64{1, 6, 4, 2, 5, 3} {
		w.tell(events.KeyReturn, asks(n), 0, 0)
	}
	if got := w.granted(); !slices.Equal(got, []uint64{1, 6, 4, 2, 5, 3}) {
		t.Errorf("granted in the order %v", got)
	}
	if left := rowstest.Memory(&w.state); left != "" {
		t.Errorf("rows are left:\n%s", left)
	}
}

// Each word of a workflow comes again, late or out of order: no more than the limit are out, and
// in the end all have been granted that were not withdrawn, and nothing is left.
func TestNoKeyHasMorePermitsOutThanItsLimit(t *testing.T) {
	for seed := range uint64(300) {
		w, rnd := &world{t: t, now: 1000}, rand.New(rand.NewPCG(seed, 1))
		limit := 1 + seed%4
		out, over := map[uint64]bool{}, map[uint64]bool{}
		seen := 0
		follow := func() {
			for ; seen < len(w.said); seen++ {
				s := w.said[seen]
				if s.Verb != events.KeyGrant {
					continue
				}
				n := uint64(s.Runnable)
				if over[n] { // it is not wanted any more
					w.tell(events.KeyReturn, asks(n), 0, 0)
					continue
				}
				out[n] = true
			}
			if n := uint64(len(out)); n > limit {
				t.Fatalf("seed %d: %d permits are out, the limit is %d", seed, n, limit)
			}
		}
		back := func(n uint64) {
			delete(out, n)
			over[n] = true
			w.tell(events.KeyReturn, asks(n), 0, 0)
		}
		const requests = 20
		for range 150 {
			switch n := 1 + rnd.Uint64N(requests); rnd.IntN(4) {
			case 0:
				back(n)
			case 1:
				w.now += 30_000
				w.fire()
			default:
				if !over[n] || rnd.IntN(3) == 0 {
					w.tell(events.KeyAsk, asks(n), uint8(n%4), limit)
				}
			}
			follow()
		}
		for n := range uint64(requests) {
			back(n + 1)
			follow()
		}
		if left := rowstest.Memory(&w.state); left != "" {
			t.Fatalf("seed %d: rows are left:\n%s", seed, left)
		}
	}
}

// After a lease the holders are asked, and only they.
func TestHoldersAreAsked(t *testing.T) {
	w := &world{t: t, now: 1000}
	for n := range uint64(300) {
		w.tell(events.KeyAsk, asks(n+1), 2, 200)
	}
	for w.now < 1000+Lease.Milliseconds() || slices.IndexFunc(w.said, func(s said) bool { return s.Runnable == 200 && s.Verb == events.KeyInquire }) < 0 {
		if !w.fire() {
			t.Fatal("the key has no timer")
		}
	}
	asked := map[events.RunnableID]int{}
	for _, s := range w.said {
		if s.Verb == events.KeyInquire {
			asked[s.Runnable]++
		}
	}
	if len(asked) != 200 || asked[200] != 1 || asked[201] != 0 {
		t.Errorf("%d holders were asked", len(asked))
	}
	if len(w.granted()) != 200 {
		t.Errorf("%d were granted", len(w.granted()))
	}
}

// A limit that is raised, however far, is used up in records of a bounded size.
func TestManyPermitsAreGrantedInPieces(t *testing.T) {
	w := &world{t: t, now: 1000}
	for n := range uint64(400) {
		w.tell(events.KeyAsk, asks(n+1), 2, 1)
	}
	w.tell(events.KeyAsk, asks(401), 2, 1000)
	for len(w.granted()) < 401 {
		if !w.fire() {
			t.Fatalf("%d are granted, and there is no timer", len(w.granted()))
		}
	}
	for _, rec := range w.all {
		if len(rec.Events) > mostEach+1 {
			t.Errorf("a record has %d events", len(rec.Events))
		}
	}
}

// Whatever stands in the inbox of a key: it is decided, or changes nothing.
func FuzzMessage(f *testing.F) {
	for _, m := range []events.KeyMessage{{}, {Verb: events.KeyAsk, Runnable: 1, Limit: events.KeyLimit{Limit: 1, Per: 1000}}, {Verb: events.KeyAsk, Runnable: 1, Limit: events.KeyLimit{Limit: 1}}, {Verb: events.KeyAsk, Runnable: 1, Limit: events.KeyLimit{Limit: 1, Per: 1000, Fails: true}}, {Verb: events.KeyReturn, Runnable: 1}, {Verb: events.KeyReturn, Runnable: 1, Verdict: events.VerdictFailed}, {Verb: 9, Rank: 200}} {
		f.Add("w", wire.Marshal(&m))
	}
	f.Fuzz(func(t *testing.T, from string, body []byte) {
		if strings.ContainsRune(from, 0) {
			return // no id has one
		}
		for _, kind := range events.KeyKinds {
			w := &world{t: t, now: 1000, kind: kind}
			for range 2 {
				w.decide(machine.Input{Source: events.FromInbox, Inbox: &events.EntityMessage{From: from, Body: body}})
				w.fire()
			}
			Machine{}.Query(rows.Begin(&w.state), w.now, &events.Query{Workflow: w.key()})
		}
	})
}

// BenchmarkHotKey measures what a permit of a key costs its machine that everybody wants.
func BenchmarkHotKey(b *testing.B) {
	var state rows.Memory
	seq := uint64(0)
	tell := func(verb events.KeyVerb, id events.PermitID) {
		m := events.KeyMessage{Verb: verb, Runnable: id.Runnable, Asked: id.Asked, Rank: 2, Limit: events.KeyLimit{Limit: 10}}
		seq++
		tx := rows.Begin(&state)
		Machine{}.Decide(tx, events.Position{Epoch: 1, Seq: seq}, 1000, machine.Input{
			Workflow: key, Source: events.FromInbox, Inbox: &events.EntityMessage{From: id.Workflow, Body: wire.Marshal(&m)},
		})
		state.Commit(tx.Writes())
	}
	const queued = 10 // a Memory sorts its rows for each scan; what a long queue costs the store, BenchmarkHotKey of plannerd shows
	for n := range uint64(queued) {
		tell(events.KeyAsk, asks(n+1))
	}
	for n := uint64(1); b.Loop(); n++ {
		tell(events.KeyAsk, asks(n+queued))
		tell(events.KeyReturn, asks(n))
	}
}
