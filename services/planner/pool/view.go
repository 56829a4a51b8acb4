package pool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// What bounds an answer. One that fits no record is refused.
const (
	maxShown   = events.MaxShownWork    // attempts of a list
	maxPools   = 200                    // pools of a list
	maxRunners = events.MaxShownRunners // runners of a list
	maxWeight  = 300_000                // bytes of the runners of a list, about
	maxCounted = 1000                   // pools of a partition that are counted
	maxLooked  = 20_000                 // attempts of the queue that are looked at for the place of one
)

// Query implements machine.Machine.
func (m *Machine) Query(tx *rows.Tx, now int64, q *events.Query) events.Reply {
	r := events.Reply{ID: q.ReplyTo.ID, Kind: events.ReplyAnswer, Workflow: q.Workflow, Result: events.ResultDone}
	t := m.begin(tx, events.Position{}, now, q.Workflow)
	body, refusal := m.answer(t, q)
	if refusal != nil {
		r.Result, r.Refusal = events.ResultRefused, refusal
		return r
	}
	var err error
	if r.Body, err = json.Marshal(body); err != nil {
		panic(err)
	}
	return r
}

func (m *Machine) answer(t *turn, q *events.Query) (any, *events.Refusal) {
	of := q.Workflow == events.PoolPrefix
	switch {
	case of && q.Kind == events.PoolsQuery:
		return m.list(t, q), nil
	case of && q.Kind == events.RunnersQuery:
		return m.runners(t, q)
	case !of && q.Kind == events.RunnerQuery:
		return t.runnerOf(q.Filter), nil
	case of || q.Kind != events.PoolQuery && q.Kind != events.RunnersQuery && q.Kind != events.PlacesQuery && q.Kind != events.AttemptQuery:
		return nil, &events.Refusal{Code: "unknown_query", Path: "kind", Message: fmt.Sprintf("there is no query %q of pools", q.Kind)}
	case t.shards() > 0 && q.Kind == events.RunnersQuery: // some of its shards may be of this partition
		return m.runners(t, q)
	case t.head == nil && q.Kind == events.PoolQuery && t.shards() > 0: // what there is, its shards have
		return events.PoolState{PoolSummary: events.PoolSummary{Name: t.name, Shards: t.shards()}, Runners: []events.RunnerState{}, Queue: []events.PoolWork{}}, nil
	case t.head == nil:
		return nil, &events.Refusal{Code: "not_found", Message: fmt.Sprintf("no runner has connected to the pool %q, and nothing waits for one", t.name)}
	case q.Kind == events.RunnersQuery:
		return m.runners(t, q)
	case q.Kind == events.PlacesQuery:
		return t.places(q)
	case q.Kind == events.AttemptQuery:
		if one := t.asked(q.Filter); one != nil {
			return one, nil
		}
		return nil, &events.Refusal{Code: "not_found", Message: fmt.Sprintf("the pool %q has no such attempt", t.name)}
	}
	return t.state(q), nil
}

// most is how many items a page has at most, as it is asked for.
func most(q *events.Query, bound int) int {
	if q.Limit > 0 {
		return min(bound, int(q.Limit))
	}
	return bound
}

// list is the pools of the partition, by name, behind the cursor, the id of one.
func (m *Machine) list(t *turn, q *events.Query) events.PoolList {
	return machine.ListEntities(t.tx, events.PoolPrefix, q.Cursor, most(q, maxPools), func(id string) events.PoolSummary {
		return m.begin(t.tx, events.Position{}, t.now, id).summary()
	})
}

// Pools implements machine.Pooling.
func (m *Machine) Pools(tx *rows.Tx, now int64, most int) []events.PoolSummary {
	all := []events.PoolSummary{}
	machine.EachEntity(tx, events.PoolPrefix, "", func(id string) bool {
		all = append(all, m.begin(tx, events.Position{}, now, id).summary())
		return len(all) < maxCounted
	})
	slices.SortStableFunc(all, func(x, y events.PoolSummary) int { // they are by name
		return cmp.Or(-compareSet(x.Oldest, y.Oldest), cmp.Compare(x.Oldest, y.Oldest))
	})
	return all[:min(len(all), most)]
}

// compareSet orders texts that are not empty behind those that are.
func compareSet(x, y string) int { return cmp.Compare(min(len(x), 1), min(len(y), 1)) }

// runners is the runners of a pool, or of all pools of the partition, in the order in which they came, behind the cursor.
func (m *Machine) runners(t *turn, q *events.Query) (any, *events.Refusal) {
	from, after := q.Workflow, uint64(0)
	if q.Cursor != "" {
		var err error
		if from, after, err = events.ParseRunnerCursor(q.Cursor); err != nil || !strings.HasPrefix(from, q.Workflow) {
			return nil, &events.Refusal{Code: "invalid_field", Path: "cursor", Message: "is not the cursor of a list of runners"}
		}
	}
	p := runnerPage{most: most(q, maxRunners)}
	p.Items = []events.RunnerState{}
	machine.EachEntity(t.tx, q.Workflow, from, func(id string) bool {
		if q.Workflow != events.PoolPrefix && id != q.Workflow && !strings.HasPrefix(id, q.Workflow+"/") {
			return true // its name only begins alike
		}
		if id != from {
			after = 0
		}
		return p.add(m.begin(t.tx, events.Position{}, t.now, id), after)
	})
	return p.RunnerList, nil
}

// runnerPage is a page of runners that is being made.
type runnerPage struct {
	events.RunnerList
	most   int
	weight int
	last   string // the cursor behind its last runner
}

// add adds the runners of a pool behind a session; false: the page is full, and there are more.
func (p *runnerPage) add(t *turn, after uint64) bool {
	rows.Scan(t.tx, sessionKey(t.id, after+1), func(k rows.Key, s *session) bool {
		one := t.runner(k.A, s)
		p.weight += weight(&one)
		if len(p.Items) == p.most || len(p.Items) > 0 && p.weight > maxWeight {
			p.Next = p.last
			return false
		}
		p.Items = append(p.Items, one)
		p.last = events.RunnerCursor(t.id, k.A)
		return true
	})
	return p.Next == ""
}

// weight is about how many bytes a runner has in an answer.
func weight(r *events.RunnerState) int {
	n := 500 + len(r.Metadata) + len(r.Key) + len(r.Name) + len(r.Reason)
	for _, name := range r.Names {
		n += len(name) + 3
	}
	for i := range r.Work {
		n += 200 + len(r.Work[i].Workflow) + len(r.Work[i].Queue)
	}
	return n
}

func (t *turn) summary() events.PoolSummary {
	h := t.head
	n := &h.Runners
	v := events.PoolSummary{
		Name: t.name, Shards: t.shards(), Queued: h.Queued, Running: h.Given,
		Connected: n.Connected, Lost: n.Lost, Draining: n.Draining, Passed: n.Passed, Slots: n.Slots, Free: n.Free,
	}
	if v.Queued > 0 {
		v.Oldest = events.Stamp(t.work(t.first()).Since).String()
		v.Waits = t.waitsFor()
	}
	return v
}

// waitsFor says in words what the queue waits for; empty: for nothing, as what waits gets slots just now.
func (t *turn) waitsFor() string {
	n := &t.head.Runners
	_, s := t.best()
	switch {
	case s != nil:
		return ""
	case n.Connected == 0:
		return "no runner is connected"
	case n.Passed == n.Connected:
		return "no runner that is connected gets new work"
	case n.Free > 0:
		return "no runner of the newest version has a free slot, and older ones get no work while it is there"
	}
	return "no runner that gets new work has a free slot"
}

// state is the pool with its runners and its queue. With a filter it is the place of the attempt in the queue whose
// token that is.
func (t *turn) state(q *events.Query) events.PoolState {
	p := runnerPage{most: maxRunners}
	p.Items = []events.RunnerState{}
	p.add(t, 0)
	v := events.PoolState{PoolSummary: t.summary(), Runners: p.Items, More: p.Next != "", Queue: []events.PoolWork{}}
	place := uint64(0)
	rows.Scan(t.tx, queueKey(t.id, 0, 0), func(k rows.Key, _ *nothing) bool {
		place++
		v.Queue = append(v.Queue, t.work(k.B).show(place))
		return len(v.Queue) < maxShown
	})
	if q.Filter != "" {
		v.Asked = t.asked(q.Filter)
	}
	return v
}

// places are those of the attempts in the queue whose tokens are asked for.
func (t *turn) places(q *events.Query) (any, *events.Refusal) {
	v := events.PoolPlaces{Queued: t.head.Queued, Places: map[string]uint64{}}
	if t.head.Queued > 0 {
		v.Waits = t.waitsFor()
	}
	tokens := strings.Split(q.Filter, ",")
	if len(tokens) > events.MaxPlaces {
		return nil, &events.Refusal{Code: "invalid_field", Path: "filter", Message: fmt.Sprintf("names more than %d attempts", events.MaxPlaces)}
	}
	asked := map[uint64]string{}
	for _, token := range tokens {
		if w, n := t.workOf(token); w != nil && w.Session == 0 {
			asked[n] = token
		}
	}
	place := uint64(0)
	rows.Scan(t.tx, queueKey(t.id, 0, 0), func(k rows.Key, _ *nothing) bool {
		place++
		if token, is := asked[k.B]; is {
			v.Places[token] = place
		}
		return place < maxLooked && len(v.Places) < len(asked)
	})
	return v, nil
}

// workOf is the attempt of a token as a text, with its number; nil: the pool has none.
func (t *turn) workOf(token string) (*work, uint64) {
	sealed, err := events.ParseTokenText(token)
	if err != nil {
		return nil, 0
	}
	n := t.numberOf(byToken, string(sealed))
	return t.work(n), n
}

// asked is the attempt of a token, with its place in the queue, or with where it runs; nil: the pool has none.
func (t *turn) asked(token string) *events.PoolWork {
	w, n := t.workOf(token)
	if w == nil {
		return nil
	}
	one := w.show(0)
	if s := t.session(w.Session); s != nil {
		one.Runner, one.Executor, one.Address, one.Connection = s.Runner, s.To.Executor, s.Address, s.To.Number
		return &one
	}
	rows.Scan(t.tx, queueKey(t.id, 0, 0), func(k rows.Key, _ *nothing) bool {
		one.Place++
		one.Beyond = one.Place > maxLooked
		return k.B != n && !one.Beyond
	})
	return &one
}

// show is an attempt; place is that in the queue, 0 where it has a slot.
func (w *work) show(place uint64) events.PoolWork {
	v := events.PoolWork{Place: place, Queue: w.Queue, Since: events.Stamp(w.Since).String(), Stopping: w.Stop}
	if of, err := events.PeekToken(w.Token); err == nil {
		v.Workflow, v.Runnable, v.Attempt = of.Workflow, of.Runnable.String(), of.Attempt
	}
	switch {
	case w.Session == 0:
		v.State = "queued"
	case !w.Begun:
		v.State = "starting"
	default:
		v.State = "running"
	}
	return v
}

// runner is a session with the attempts that have its slots.
func (t *turn) runner(n uint64, s *session) events.RunnerState {
	v := events.RunnerState{
		ID: s.Runner, Key: s.Key, Name: s.Name, Pool: t.name, Version: s.Version, State: s.State.String(), Slots: s.Slots, Used: s.Used,
		Passed: s.passed(), Reason: s.Reason, Executor: s.To.Executor, Work: []events.PoolWork{}, Names: []string{},
		JoinedTS: events.OptionalStamp(s.Joined), SeenTS: events.OptionalStamp(s.Seen), DrainTS: events.OptionalStamp(s.Drain),
		ExpiredTS: events.OptionalStamp(s.Expires), StopTS: events.OptionalStamp(s.Stopped),
	}
	if p := rows.Get[profile](t.tx, profileKey(t.id, n)); p != nil {
		v.Metadata = p.Metadata
		for _, name := range p.Names {
			v.Names = append(v.Names, name.Name)
		}
	}
	for _, held := range t.held(n) {
		if len(v.Work) == maxShown {
			break
		}
		v.Work = append(v.Work, t.work(held).show(0))
	}
	return v
}
