package pool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// maxShown bounds the attempts of each list of an answer, and maxRunners the runners.
const (
	maxShown   = 100
	maxRunners = 500
)

// Query implements machine.Machine.
func (m *Machine) Query(tx *rows.Tx, now int64, q *events.Query) events.Reply {
	r := events.Reply{ID: q.ReplyTo.ID, Kind: events.ReplyAnswer, Workflow: q.Workflow, Result: events.ResultDone}
	var v any
	t := m.begin(tx, events.Position{}, now, q.Workflow)
	switch {
	case q.Workflow == events.PoolPrefix:
		v = m.list(tx, now, q)
	case t.head == nil:
		r.Result = events.ResultRefused
		r.Refusal = &events.Refusal{Code: "not_found", Message: fmt.Sprintf("no runner has connected to the pool %q, and nothing waits for one", t.name)}
		return r
	default:
		v = t.state(q)
	}
	var err error
	if r.Body, err = json.Marshal(v); err != nil {
		panic(err)
	}
	return r
}

// list is the pools of the partition, by name, behind the cursor, the id of one.
func (m *Machine) list(tx *rows.Tx, now int64, q *events.Query) events.PoolList {
	v := events.PoolList{Items: []events.PoolSummary{}}
	last := ""
	rows.Scan(tx, entityKey(max(events.PoolPrefix, q.Cursor)), func(k rows.Key, _ *nothing) bool {
		switch {
		case k.Workflow == q.Cursor:
			return true
		case !strings.HasPrefix(k.Workflow, events.PoolPrefix):
			return false
		case len(v.Items) == maxShown:
			v.Next = last
			return false
		}
		v.Items = append(v.Items, m.begin(tx, events.Position{}, now, k.Workflow).summary())
		last = k.Workflow
		return true
	})
	return v
}

func (t *turn) summary() events.PoolSummary {
	h := t.head
	v := events.PoolSummary{Name: t.name, Queued: h.Queued, Running: h.Given}
	rows.Scan(t.tx, sessionKey(t.id, 0), func(_ rows.Key, s *session) bool {
		switch s.State {
		case connected:
			v.Connected++
			v.Slots += uint64(s.Slots)
			v.Free += uint64(s.free())
		case lost:
			v.Lost++
		case draining:
			v.Draining++
		case stopped:
		}
		return true
	})
	if v.Queued > 0 {
		v.Oldest = events.Stamp(t.work(t.first()).Since).String()
		if v.Free == 0 {
			v.Waits = waitsFor(v)
		}
	}
	return v
}

// waitsFor says in words what the queue waits for.
func waitsFor(v events.PoolSummary) string {
	if v.Connected == 0 {
		return "no runner is connected"
	}
	return "no runner that may get work has a free slot"
}

// state is the pool with its runners and its queue. With a filter it is the place of the attempt in the queue whose
// token that is.
func (t *turn) state(q *events.Query) events.PoolState {
	v := events.PoolState{PoolSummary: t.summary(), Runners: []events.RunnerState{}, Queue: []events.PoolWork{}}
	rows.Scan(t.tx, sessionKey(t.id, 0), func(k rows.Key, s *session) bool {
		v.Runners = append(v.Runners, t.runner(k.A, s))
		return len(v.Runners) < maxRunners
	})
	place := uint64(0)
	rows.Scan(t.tx, rows.Key{Table: rows.Ready, Workflow: t.id}, func(k rows.Key, _ *nothing) bool {
		w := t.work(k.B)
		place++
		if len(v.Queue) < maxShown {
			v.Queue = append(v.Queue, w.show(place))
		}
		if q.Filter != "" && events.TokenText(w.Token) == q.Filter {
			one := w.show(place)
			v.Asked = &one
		}
		return len(v.Queue) < maxShown || q.Filter != "" && v.Asked == nil
	})
	if sealed, err := events.ParseTokenText(q.Filter); err == nil && v.Asked == nil {
		if w := t.work(t.numberOf(byToken, string(sealed))); w != nil {
			one := w.show(0)
			s := t.session(w.Session)
			one.Runner, one.Executor, one.Address, one.Connection = s.Runner, s.To.Executor, s.Address, s.To.Number
			v.Asked = &one
		}
	}
	return v
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
		Passed: s.Passed, Reason: s.Reason, Executor: s.To.Executor, Metadata: s.Metadata, Work: []events.PoolWork{}, Names: []string{},
		JoinedTS: events.OptionalStamp(s.Joined), SeenTS: events.OptionalStamp(s.Seen), DrainTS: events.OptionalStamp(s.Drain),
		ExpiredTS: events.OptionalStamp(s.Expires), StopTS: events.OptionalStamp(s.Stopped),
	}
	for _, name := range s.Names {
		v.Names = append(v.Names, name.Name)
	}
	for _, held := range t.held(n) {
		if len(v.Work) == maxShown {
			break
		}
		v.Work = append(v.Work, t.work(held).show(0))
	}
	return v
}
