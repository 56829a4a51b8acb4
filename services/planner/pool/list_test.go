package pool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// several are pools with runners, in a partition that has keys and other entities too.
func several(t *testing.T, runners map[string]int) *world {
	t.Helper()
	w := newWorld(t, Options{})
	tx := rows.Begin(&w.state)
	for _, other := range []string{"key:rate/a", "pop:x", "schedule:s"} {
		tx.Create(machine.EntityKey(other), &machine.Listed{})
	}
	w.state.Commit(tx.Writes())
	for name, n := range runners { // order: each has its own rows
		for i := range n {
			tx := rows.Begin(&w.state)
			w.seq++
			w.conns++
			w.m.Decide(tx, events.Position{Epoch: 1, Seq: w.seq}, w.now, machine.Input{Workflow: events.PoolOf(name), Inbox: &events.RunnerReport{
				Connection: events.Connection{Executor: "x", Number: w.conns},
				Hello:      &events.RunnerHello{Key: fmt.Sprint(i), Slots: 2, Instance: "i", Sent: true},
			}})
			w.state.Commit(tx.Writes())
		}
	}
	return w
}

// pages are all items of a list, in pages of a size.
func pages[T any](t *testing.T, w *world, q events.Query) (all []T) {
	t.Helper()
	for {
		r := w.m.Query(rows.Begin(&w.state), w.now, &q)
		var page events.EntityList[T]
		if r.Refusal != nil {
			t.Fatalf("%+v", r.Refusal)
		}
		if err := json.Unmarshal(r.Body, &page); err != nil || q.Limit > 0 && len(page.Items) > int(q.Limit) {
			t.Fatalf("%s, %v", r.Body, err)
		}
		all = append(all, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all
		}
	}
}

func TestListsHaveEachPoolAndRunnerOnce(t *testing.T) {
	w := several(t, map[string]int{"a": 3, "a.b": 1, "images": 4})
	for size := range uint32(9) {
		var pools, runners, ofA []string
		for _, p := range pages[events.PoolSummary](t, w, events.Query{Kind: events.PoolsQuery, Workflow: events.PoolPrefix, Limit: size}) {
			pools = append(pools, fmt.Sprintf("%s %d/%d", p.Name, p.Free, p.Slots))
		}
		for _, r := range pages[events.RunnerState](t, w, events.Query{Kind: events.RunnersQuery, Workflow: events.PoolPrefix, Limit: size}) {
			runners = append(runners, r.Pool+" "+r.Key)
		}
		for _, r := range pages[events.RunnerState](t, w, events.Query{Kind: events.RunnersQuery, Workflow: "pool:a", Limit: size}) {
			ofA = append(ofA, r.Key)
		}
		want(t, "pools", pools, []string{"a 6/6", "a.b 2/2", "images 8/8"})
		want(t, "runners", runners, []string{"a 0", "a 1", "a 2", "a.b 0", "images 0", "images 1", "images 2", "images 3"})
		want(t, "those of a", ofA, []string{"0", "1", "2"})
	}
}

func TestAListOfRunnersFitsARecord(t *testing.T) {
	w := several(t, map[string]int{"images": 40})
	for _, m := range pages[events.RunnerState](t, w, events.Query{Kind: events.RunnersQuery, Workflow: id}) {
		tx := rows.Begin(&w.state)
		_, s := w.m.begin(tx, events.Position{}, w.now, id).find(m.ID)
		n := w.m.begin(tx, events.Position{}, w.now, id).numberOf(byKey, m.Key)
		rows.Change[profile](tx, profileKey(id, n)).Metadata = []byte(`"` + strings.Repeat("x", 30_000) + `"`)
		if s == nil {
			t.Fatalf("%s is not found", m.ID)
		}
		w.state.Commit(tx.Writes())
	}
	for _, q := range []events.Query{{Kind: events.RunnersQuery, Workflow: id}, {Kind: events.PoolQuery, Workflow: id}} {
		if r := w.m.Query(rows.Begin(&w.state), w.now, &q); len(r.Body) > 2*maxWeight {
			t.Errorf("the answer to %s has %d bytes", q.Kind, len(r.Body))
		}
	}
	if n := len(pages[events.RunnerState](t, w, events.Query{Kind: events.RunnersQuery, Workflow: id})); n != 40 {
		t.Errorf("%d are listed", n)
	}
	if v := w.view(); !v.More || len(v.Runners) == 0 || v.Connected != 40 {
		t.Errorf("more: %t, %d shown, %d connected", v.More, len(v.Runners), v.Connected)
	}
}

func TestQueriesOfNoPoolAreRefused(t *testing.T) {
	w := several(t, map[string]int{"images": 1})
	for _, c := range []struct {
		q    events.Query
		code string
	}{
		{events.Query{Kind: "facts", Workflow: id}, "unknown_query"},
		{events.Query{Kind: events.PoolQuery, Workflow: events.PoolPrefix}, "unknown_query"},
		{events.Query{Kind: events.PoolsQuery, Workflow: id}, "unknown_query"},
		{events.Query{Kind: events.PoolQuery, Workflow: "pool:nobody"}, "not_found"},
		{events.Query{Kind: events.RunnersQuery, Workflow: "pool:nobody"}, "not_found"},
		{events.Query{Kind: events.RunnersQuery, Workflow: id, Cursor: "pool:other/1"}, "invalid_field"},
		{events.Query{Kind: events.RunnersQuery, Workflow: events.PoolPrefix, Cursor: "x"}, "invalid_field"},
	} {
		if r := w.m.Query(rows.Begin(&w.state), w.now, &c.q); r.Refusal == nil || r.Refusal.Code != c.code {
			t.Errorf("%+v: %+v, want %s", c.q, r.Refusal, c.code)
		}
	}
}

// What the queue waits for is told in words, until a runner comes that can take from it.
func TestAPoolTellsWhatItsQueueWaitsFor(t *testing.T) {
	w := newWorld(t, Options{})
	w.offer(1, 2, 3)
	want(t, "waits", w.view().Waits, "no runner is connected")
	a := w.connect("a", 1, 1)
	want(t, "waits", w.view().Waits, "no runner that gets new work has a free slot")
	a.report(events.RunnerReport{Silent: true})
	want(t, "waits", w.view().Waits, "no runner that is connected gets new work")
	v := w.view()
	want(t, "connected, passed over, free", []uint64{v.Connected, v.Passed, v.Free}, []uint64{1, 1, 0})
	b := w.connect("b", 2, 2)
	want(t, "waits", w.view().Waits, "")
	w.offer(4)
	a.report(events.RunnerReport{Heard: true})
	a.says(events.TaskStopped, 1)
	want(t, "waits", w.view().Waits, "no runner of the newest version has a free slot, and older ones get no work while it is there")
	b.says(events.TaskRunning, 2)
	b.says(events.TaskStopped, 2)
	want(t, "waits", w.view().Waits, "")
	want(t, "running", w.view().Running, 2)
}

// The place of an attempt is counted from the one that is the next; one that has a slot is where it runs.
func TestAPoolTellsThePlaceOfAnAttempt(t *testing.T) {
	w := newWorld(t, Options{})
	w.offer(1, 2)
	w.offerAt(3, 0) // urgent
	asked := func(n int) *events.PoolWork {
		t.Helper()
		r := w.m.Query(rows.Begin(&w.state), w.now, &events.Query{Kind: events.PoolQuery, Workflow: id, Filter: events.TokenText(token(n))})
		var v events.PoolState
		if err := json.Unmarshal(r.Body, &v); err != nil {
			t.Fatal(err)
		}
		return v.Asked
	}
	var places []uint64
	for n := range 3 {
		places = append(places, asked(n+1).Place)
	}
	want(t, "places", places, []uint64{2, 3, 1})
	want(t, "states", asked(3).State, "queued")
	r := w.connect("a", 1, 1)
	want(t, "its runner", []string{asked(3).State, asked(3).Runner, asked(3).Executor}, []string{"starting", r.id, "x"})
	alone := w.m.Query(rows.Begin(&w.state), w.now, &events.Query{Kind: events.AttemptQuery, Workflow: id, Filter: events.TokenText(token(3))})
	whole, err := json.Marshal(asked(3))
	if err != nil || alone.Refusal != nil || string(alone.Body) != string(whole) {
		t.Errorf("asked for alone it is %s, %+v; want %s, %v", alone.Body, alone.Refusal, whole, err)
	}
	if none := w.m.Query(rows.Begin(&w.state), w.now, &events.Query{Kind: events.AttemptQuery, Workflow: id, Filter: "no token"}); none.Refusal == nil || none.Refusal.Code != "not_found" {
		t.Errorf("an attempt that there is none is %+v", none)
	}
	want(t, "place of the next", asked(1).Place, 1)
	if nobody := asked(9); nobody != nil {
		t.Errorf("an attempt that was never offered is %+v", nobody)
	}
	var shown []uint64
	for _, one := range w.view().Queue {
		shown = append(shown, one.Place)
	}
	if !slices.Equal(shown, []uint64{1, 2}) {
		t.Errorf("the queue has the places %v", shown)
	}
}

// The places of many attempts are told by one look at the queue; those that are not in it have none.
func TestAPoolTellsThePlacesOfManyAttempts(t *testing.T) {
	w := newWorld(t, Options{})
	w.connect("a", 1, 1)
	w.offer(1, 2, 3, 4)
	w.offerAt(5, 0) // urgent
	ask := func(tokens ...string) (v events.PoolPlaces, refusal *events.Refusal) {
		t.Helper()
		r := w.m.Query(rows.Begin(&w.state), w.now, &events.Query{Kind: events.PlacesQuery, Workflow: id, Filter: strings.Join(tokens, ",")})
		if r.Refusal == nil {
			if err := json.Unmarshal(r.Body, &v); err != nil {
				t.Fatal(err)
			}
		}
		return v, r.Refusal
	}
	text := func(n int) string { return events.TokenText(token(n)) }
	v, _ := ask(text(1), text(2), text(4), text(5), text(9), "no token")
	want(t, "places", v.Places, map[string]uint64{text(2): 2, text(4): 4, text(5): 1})
	want(t, "queued", v.Queued, 4)
	want(t, "waits", v.Waits, "no runner that gets new work has a free slot")
	if _, refusal := ask(slices.Repeat([]string{text(1)}, events.MaxPlaces+1)...); refusal == nil || refusal.Code != "invalid_field" {
		t.Errorf("too many: %+v", refusal)
	}
}

// Those that are counted are first the pools whose next attempt has waited longest.
func TestThePoolsThatWaitLongestAreCountedFirst(t *testing.T) {
	w := several(t, map[string]int{"a": 1, "z": 1})
	w.offer(1)
	w.now += 1000
	for _, name := range []string{"b", "early"} {
		tx := rows.Begin(&w.state)
		w.seq++
		body := wire.Marshal(&events.PoolMessage{Verb: events.PoolOffer, Token: token(2), Queue: "q", Task: []byte("task")})
		at := w.now - map[string]int64{"early": 5000}[name]
		w.m.Decide(tx, events.Position{Epoch: 1, Seq: w.seq}, at, machine.Input{Workflow: events.PoolOf(name), Inbox: &events.EntityMessage{From: "w2", Body: body}})
		w.state.Commit(tx.Writes())
	}
	for most, want := range map[int][]string{9: {"early", "images", "b", "a", "z"}, 2: {"early", "images"}} {
		var names []string
		for _, p := range w.m.Pools(rows.Begin(&w.state), w.now, most) {
			names = append(names, p.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("of %d at most: %q, want %q", most, names, want)
		}
	}
}
