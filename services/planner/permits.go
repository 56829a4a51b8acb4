package planner

import (
	"encoding/json"
	"fmt"
	"slices"
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
// holds it then, unless it is of a rate: that one is spent. It is replaced as a whole: versions of a row share it.
type permit struct {
	Key   string          // id of the entity
	Asked events.Position // the record that asked
	Since int64           // Unix ms of that
	Room  bool            // the runnable has room of max_concurrency while it waits
	Holds *permit         // of another key, which was granted before this one was asked for; nil: it holds none
}

// Fields implements wire.Message.
func (p *permit) Fields(c *wire.Codec) {
	wire.String(c, 1, "key", &p.Key)
	wire.Nested(c, 2, "asked", &p.Asked)
	wire.Int(c, 3, "since", &p.Since)
	c.Bool(4, "room", &p.Room)
	wire.Optional(c, 5, "holds", &p.Holds)
}

// kind is the kind of the key that it is of.
func (p *permit) kind() string {
	kind, _ := p.of()
	return kind
}

// of is the key that it is of.
func (p *permit) of() (kind, name string) {
	kind, name, err := events.ParseKeyID(p.Key)
	if err != nil {
		panic("the key of a recorded request: " + err.Error())
	}
	return kind, name
}

// rate reports whether the permit is one of a rate, which is spent once it is granted.
func (p *permit) rate() bool { return p.kind() == events.RateKey }

// is reports whether a key means this permit, or request.
func (p *permit) is(key string, asked events.Position) bool {
	return p != nil && p.Key == key && p.Asked == asked
}

// holds reports whether a key means a permit that is held while this one is waited for.
func (p *permit) holds(key string, asked events.Position) bool {
	return p != nil && (p.Holds.is(key, asked) || p.Holds.holds(key, asked))
}

// kept is what an attempt holds that begins with this permit: one of a rate is spent.
func (p *permit) kept() *permit {
	if p != nil && p.rate() {
		return p.Holds
	}
	return p
}

// returned are the permits that go back with this one, a breaker's with what its attempt has come to.
func (p *permit) returned(id events.RunnableID, verdict events.Verdict) (all []events.ReturnedPermit) {
	if p.Holds != nil {
		all = p.Holds.returned(id, verdict)
	}
	one := events.ReturnedPermit{Key: p.Key, Runnable: id, Asked: p.Asked}
	if p.kind() == events.BreakerKey {
		one.Verdict = verdict
	}
	return append(all, one)
}

// waitsFor says in words what a runnable waits for that has asked.
func (p *permit) waitsFor() string {
	kind, name := p.of()
	what, look, shows := fmt.Sprintf("a permit of the key %q (%s)", name, kind), "heddle keys --kind "+kind+" "+name, ""
	switch kind {
	case events.ConcurrencyKey:
		look, shows = "heddle keys "+name, "who holds one and who is before it"
	case events.RateKey:
		shows = "when there is one and who is before it"
	case events.BreakerKey:
		what, shows = fmt.Sprintf("the breaker %q, which is open or lets one attempt at a time try", name), "until when it is open"
	}
	return fmt.Sprintf("%s, asked for at %s: %s shows %s", what, events.Stamp(p.Since), look, shows)
}

// asksFirst asks for the permit that the next attempt of a runnable needs first, and reports whether it needs one. What
// waits for one has room already, and holds what it was granted so far: a permit that was granted waits for nothing
// but those of the kinds behind it.
func (t *turn) asksFirst(id events.RunnableID, c *definition.Component, r *runnable, pol policy.Policy) bool {
	kinds := events.KeyKinds
	if r.Permit != nil {
		kinds = kinds[slices.Index(kinds, r.Permit.kind())+1:]
	}
	for _, kind := range kinds {
		if r.needs(pol, kind) {
			t.ask(id, c, r, pol, kind)
			return true
		}
	}
	return false
}

// needs reports whether the next attempt of a runnable needs a permit of a kind of key. A breaker protects what the
// component's own task calls, not what another one does in its place.
func (r *runnable) needs(pol policy.Policy, kind string) bool {
	if kind == events.BreakerKey {
		return pol.Breaker.Name != "" && r.other(pol).Task == ""
	}
	return limitOf(pol, kind).Key != ""
}

// ask asks for a permit of a kind of key.
func (t *turn) ask(id events.RunnableID, c *definition.Component, r *runnable, pol policy.Policy, kind string) {
	key := pol.Breaker.Name
	if kind != events.BreakerKey {
		var failure *events.TaskError
		key, failure = t.keyOf(c, r, "the key of "+fieldOf[kind]+": ", limitOf(pol, kind).Key, events.CheckKeyName)
		if failure != nil {
			t.ends.failFor(id, *failure, "", failedAttempt)
			return
		}
	}
	t.emit(&events.PermitAsked{Runnable: id, Key: events.KeyOf(kind, key), Rank: pol.Priority.Rank(), Limit: granting(pol, kind)})
}

// limitOf is the limit of a policy by a kind of key, which is no breaker.
func limitOf(pol policy.Policy, kind string) policy.KeyLimit {
	if kind == events.RateKey {
		return pol.Rate
	}
	return pol.Concurrency
}

// granting is how much the key is to grant.
func granting(pol policy.Policy, kind string) events.KeyLimit {
	if b := pol.Breaker; kind == events.BreakerKey {
		return events.KeyLimit{Limit: uint64(b.Threshold), Per: uint64(b.Reset.Milliseconds()), Fails: b.OnOpen == policy.FailOpen}
	}
	l := limitOf(pol, kind)
	return events.KeyLimit{Limit: uint64(l.Limit), Per: uint64(l.Per.Milliseconds())}
}

// askAgain repeats a request that is not granted yet: it may be lost with a log that has lost records. The
// key knows it by its first record. The wait before the next one is as long as the one so far.
func (t *turn) askAgain(id events.RunnableID, r *runnable) {
	pol := r.policy()
	t.emit(&events.PermitAsked{
		Runnable: id, Key: r.Permit.Key, Rank: pol.Priority.Rank(), First: r.Permit.Asked, Limit: granting(pol, r.Permit.kind()),
	})
}

// keyOf evaluates the expression of a key for the next attempt of a runnable. what says before a message which key is wrong.
func (t *turn) keyOf(c *definition.Component, r *runnable, what, text string, check func(string) error) (key string, failure *events.TaskError) {
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
			err = check(key)
		}
	})
	switch {
	case over != nil:
		return "", &events.TaskError{Type: over.typ, Message: what + over.Message, NonRetryable: true}
	case err != nil:
		return "", &events.TaskError{Type: events.ErrorExpression, Message: what + err.Error(), NonRetryable: true}
	}
	return key, nil
}

// fieldOf is the field of a policy that has a kind of key.
var fieldOf = map[string]string{events.ConcurrencyKey: "concurrency", events.RateKey: "rate_limit"}

// asked makes a runnable wait for a permit.
func (rs *runnables) asked(e *events.PermitAsked) {
	h, r := rs.h(), rs.change(e.Runnable)
	rs.disarmWake(e.Runnable, r)
	if !e.First.IsZero() {
		rs.arm(e.Runnable, r, rs.now+max(repeatAfter, rs.now-r.Permit.Since))
		return
	}
	holds := rs.take(r)
	rs.leave(e.Runnable, r)
	r.Status = runWaiting
	h.Waiting++
	r.Permit = &permit{Holds: holds, Key: e.Key, Asked: rs.at, Since: rs.now, Room: r.policy().Mode != policy.External}
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

// giveBack notes that a runnable needs its permits no more, and what its attempt has come to.
func (rs *runnables) giveBack(id events.RunnableID, r *runnable, verdict events.Verdict) {
	if r.Permit != nil {
		rs.disarmWake(id, r) // which timer it has, the permit says
	}
	if p := rs.take(r); p != nil {
		rs.givenBack = append(rs.givenBack, p.returned(id, verdict)...)
	}
}

// verdict is what the end of an attempt that did not complete says of what a breaker protects.
func verdict(r *runnable, err events.TaskError, how ending) events.Verdict {
	none := r.Status != runActive || how == lostAttempt
	switch err.Type {
	case events.ErrorCancelled, events.ErrorStartTimeout, events.ErrorUnknownTask:
		none = true // it was stopped, or nobody has begun it
	}
	if none {
		return events.NoVerdict
	}
	return events.VerdictFailed
}

// denied takes a request back that a breaker has denied, and forgotten. What was granted before it goes back.
func (rs *runnables) denied(e *events.AttemptDenied) {
	r := rs.change(e.Runnable)
	rs.disarmWake(e.Runnable, r)
	if p := rs.take(r); p != nil {
		r.Permit = p.Holds
	}
	rs.leave(e.Runnable, r)
	r.Status, r.Attempt = 0, e.Attempt // RunnableFailed follows
	if r.For == events.ForResult {
		r.Doubt = nil // what became of an attempt before it does not matter any more
	}
}

// lineUpAgain lines a runnable up that asks for its permit again when its workflow goes on.
func (rs *runnables) lineUpAgain(id events.RunnableID) {
	if id == 0 || rs.head == nil {
		return
	}
	r := rs.change(id)
	rs.disarmWake(id, r)
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
// granted too late, or twice, or its holder is gone. So what is denied of which nobody waits is nothing.
func (t *turn) toldByKey(m *events.EntityMessage) {
	said := events.KeyMessage{}
	if wire.Unmarshal(m.Body, &said) != nil {
		return
	}
	var r *runnable
	if t.head != nil {
		r = t.runs.get(said.Runnable)
	}
	waits := r != nil && r.Status == runWaiting && r.Permit.is(m.From, said.Asked)
	switch said.Verb {
	case events.KeyAsk, events.KeyReturn: // for keys, not of them
	case events.KeyDeny:
		if waits {
			t.denied(said.Runnable, r, &said)
		}
	case events.KeyGrant, events.KeyInquire:
		switch {
		case waits:
			t.granted(said.Runnable, r)
		case r == nil || !r.Permit.is(m.From, said.Asked) && !r.Permit.holds(m.From, said.Asked):
			t.emit(&events.PermitsReturned{Permits: []events.ReturnedPermit{{Key: m.From, Runnable: said.Runnable, Asked: said.Asked}}})
		}
	}
}

// granted lets a runnable go on that was granted the permit that it waits for.
func (t *turn) granted(id events.RunnableID, r *runnable) {
	switch {
	case t.head.Status.winding():
		t.close(id)
	case t.head.Status != Running:
		t.emit(&events.PermitsReturned{Permits: r.Permit.returned(id, events.NoVerdict), Again: id})
	default:
		t.dispatch(id)
	}
}

// denied fails an attempt that a breaker does not let begin.
func (t *turn) denied(id events.RunnableID, r *runnable, said *events.KeyMessage) {
	if t.head.Status.winding() {
		t.close(id)
		return
	}
	_, name := r.Permit.of()
	why := "is half open: another attempt tries what it protects"
	if said.Until != 0 {
		why = "is open until " + events.Stamp(said.Until).String()
	}
	e := events.AttemptDenied{Runnable: id, Attempt: r.Attempt + 1, Key: r.Permit.Key}
	if r.policy().Mode != policy.External {
		_, e.Queue = r.work(t.component(r.Component))
	}
	t.emit(&e)
	t.ends.failFor(id, events.TaskError{Type: events.ErrorCircuitOpen, Message: fmt.Sprintf("the breaker %q %s", name, why)}, "", failedAttempt)
}

// askKeys adds what asks keys for permits, behind what gives permits back: a breaker must know that an attempt has failed
// before it is asked for the next one.
func (fx *effects) askKeys(all []machine.Effect, list []events.Event) []machine.Effect {
	for _, e := range list {
		if e, asks := e.(*events.PermitAsked); asks {
			all = append(all, fx.askKey(e))
		}
	}
	return all
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
		m := events.KeyMessage{Verb: events.KeyReturn, Runnable: p.Runnable, Asked: p.Asked, Verdict: p.Verdict}
		all = append(all, machine.Effect{Kind: machine.MessageEffect, Key: p.Key, Value: wire.Marshal(&m)})
	}
	return all
}
