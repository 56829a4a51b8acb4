package planner

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/wire"
)

// repeatAfter is how long a runnable waits for a permit before it asks again, in ms.
const repeatAfter = int64(time.Minute / time.Millisecond)

// permit is what a runnable has asked a key for: it waits for it until its attempt begins, which
// holds it then. It is replaced as a whole: versions of a row share it.
type permit struct {
	Key   string          // id of the entity
	Asked events.Position // the record that asked
	Since int64           // Unix ms of that
	Room  bool            // the runnable has room of max_concurrency while it waits
}

// Fields implements wire.Message.
func (p *permit) Fields(c *wire.Codec) {
	wire.String(c, 1, "key", &p.Key)
	wire.Nested(c, 2, "asked", &p.Asked)
	wire.Int(c, 3, "since", &p.Since)
	c.Bool(4, "room", &p.Room)
}

// waitsFor says in words what a runnable waits for that has asked.
func (p *permit) waitsFor() string {
	kind, name, err := events.ParseKeyID(p.Key)
	if err != nil {
		panic("the key of a recorded request: " + err.Error())
	}
	return fmt.Sprintf("a permit of the key %q (%s), asked for at %s: heddle keys %s shows who holds one and who is before it", name, kind, events.Stamp(p.Since), name)
}

// ask asks for the permit that the next attempt of a runnable needs. What waits for one has room
// already: a permit that was granted waits for nothing.
func (t *turn) ask(id events.RunnableID, c *definition.Component, r *runnable, pol policy.Policy) {
	key, failure := t.keyOf(c, r, pol.Concurrency.Key)
	if failure != nil {
		t.ends.failFor(id, *failure, "", failedAttempt)
		return
	}
	t.emit(&events.PermitAsked{
		Runnable: id, Key: events.KeyOf(events.ConcurrencyKey, key), Rank: pol.Priority.Rank(),
		Limit: events.KeyLimit{Limit: uint64(pol.Concurrency.Limit)},
	})
}

// askAgain repeats a request that is not granted yet: it may be lost with a log that has lost records. The
// key knows it by its first record. The wait before the next one is as long as the one so far.
func (t *turn) askAgain(id events.RunnableID, r *runnable) {
	pol := r.policy()
	t.emit(&events.PermitAsked{
		Runnable: id, Key: r.Permit.Key, Rank: pol.Priority.Rank(), First: r.Permit.Asked,
		Limit: events.KeyLimit{Limit: uint64(pol.Concurrency.Limit)},
	})
}

// keyOf evaluates the expression of a key for the next attempt of a runnable.
func (t *turn) keyOf(c *definition.Component, r *runnable, text string) (key string, failure *events.TaskError) {
	var err error
	a := activation{scope: r.Scope, parents: r.Parents, depth: r.Depth, input: r.Input}
	over := t.spend.evaluate(invocation{t, c, 0, a}.size(), func() {
		var value []byte
		value, err = t.p.program(policy.SeesStep, text).Eval(t.contexts.env(c, a))
		if t.spend.spent() {
			t.spend.exceeds()
		}
		if err == nil && json.Unmarshal(value, &key) != nil {
			err = fmt.Errorf("it is %s, which is no text: write string(…)", events.Cut(string(value), 100))
		} else if err == nil {
			err = events.CheckKeyName(key)
		}
	})
	switch {
	case over != nil:
		return "", &events.TaskError{Type: over.typ, Message: "the key of concurrency: " + over.Message, NonRetryable: true}
	case err != nil:
		return "", &events.TaskError{Type: events.ErrorExpression, Message: "the key of concurrency: " + err.Error(), NonRetryable: true}
	}
	return key, nil
}

// asked makes a runnable wait for a permit.
func (rs *runnables) asked(e *events.PermitAsked) {
	h, r := rs.h(), rs.change(e.Runnable)
	if !e.First.IsZero() {
		rs.disarmWake(e.Runnable, r)
		rs.arm(e.Runnable, r, rs.now+max(repeatAfter, rs.now-r.Permit.Since))
		return
	}
	rs.leave(e.Runnable, r)
	r.Status = runWaiting
	h.Waiting++
	r.Permit = &permit{Key: e.Key, Asked: rs.at, Since: rs.now, Room: r.policy().Mode != policy.External}
	if r.Permit.Room {
		h.Asking++
	}
	rs.arm(e.Runnable, r, rs.now+repeatAfter)
}

// take takes the permit of a runnable that leaves the state it is in, with the room that it had
// while it waited; nil: it has none.
func (rs *runnables) take(r *runnable) *permit {
	if r.Permit == nil {
		return nil
	}
	p := *r.Permit
	r.Permit = nil
	if p.Room {
		rs.h().Asking--
		p.Room = false
	}
	return &p
}

// giveBack notes that a runnable needs its permit no more.
func (rs *runnables) giveBack(id events.RunnableID, r *runnable) {
	if p := rs.take(r); p != nil {
		rs.givenBack = append(rs.givenBack, events.ReturnedPermit{Key: p.Key, Runnable: id, Asked: p.Asked})
	}
}

// lineUpAgain lines a runnable up that asks for its permit again when its workflow goes on.
func (rs *runnables) lineUpAgain(id events.RunnableID) {
	if id == 0 || rs.head == nil {
		return
	}
	r := rs.change(id)
	rs.take(r) // the event itself says that it is given back
	rs.leave(id, r)
	rs.enqueue(id, r)
}

// returnPermits gives back what runnables have left behind in this record, however they ended.
func (t *turn) returnPermits() {
	if all := t.givenBack; len(all) > 0 {
		t.givenBack = nil
		t.emit(&events.PermitsReturned{Permits: all})
	}
}

// toldByKey takes what a key says of a permit. One that nobody waits for or holds goes back: it was
// granted too late, or twice, or its holder is gone.
func (t *turn) toldByKey(m *events.EntityMessage) {
	said := events.KeyMessage{}
	if err := wire.Unmarshal(m.Body, &said); err != nil || said.Verb != events.KeyGrant && said.Verb != events.KeyInquire {
		return
	}
	back := []events.ReturnedPermit{{Key: m.From, Runnable: said.Runnable, Asked: said.Asked}}
	var r *runnable
	if t.head != nil {
		r = t.runs.get(said.Runnable)
	}
	switch {
	case r == nil || r.Permit == nil || r.Permit.Key != m.From || r.Permit.Asked != said.Asked:
		t.emit(&events.PermitsReturned{Permits: back})
	case r.Status != runWaiting: // its attempt holds it
	case t.head.Status.winding():
		t.close(said.Runnable)
	case t.head.Status != Running:
		t.emit(&events.PermitsReturned{Permits: back, Again: said.Runnable})
	default:
		t.dispatch(said.Runnable)
	}
}

func (fx *effects) askKey(e *events.PermitAsked) machine.Effect {
	asked := fx.at
	if !e.First.IsZero() {
		asked = e.First
	}
	m := events.KeyMessage{Verb: events.KeyAsk, Runnable: e.Runnable, Asked: asked, Rank: e.Rank, Limit: e.Limit}
	return machine.Effect{Kind: machine.MessageEffect, Key: e.Key, Value: wire.Marshal(&m)}
}

func (fx *effects) tellKeys(all []machine.Effect, e *events.PermitsReturned) []machine.Effect {
	for _, p := range e.Permits {
		m := events.KeyMessage{Verb: events.KeyReturn, Runnable: p.Runnable, Asked: p.Asked}
		all = append(all, machine.Effect{Kind: machine.MessageEffect, Key: p.Key, Value: wire.Marshal(&m)})
	}
	return all
}
