package planner

import (
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/wire"
)

// poolOf is the name of the pool that runs the next attempt; empty: workers of the queue do. What a policy says is
// about the component's own task, the setting of the deployment about the queue.
func (t *turn) poolOf(queue string, other policy.Other, pol policy.Policy) string {
	name := t.p.cfg.Pools[queue]
	if said := pol.Executor; said != "" && other.Task == "" {
		name = said.Pool()
	}
	return name
}

// shardOf is the id of the pool of a name, or of the shard of it that gets the next attempt of a runnable: the one that is known to have free
// slots, or else any, so that attempts spread.
func (t *turn) shardOf(name string, id events.RunnableID, r *runnable) string {
	if name == "" {
		return ""
	}
	shards := t.p.cfg.Shards[name]
	if spare, err := events.ParsePoolID(r.Shard); err == nil && events.IsShard(spare, name, shards) {
		return r.Shard
	}
	return events.PoolOf(events.ShardFor(name, shards, fmt.Sprintf("%s %d %d", t.id, id, r.Attempt)))
}

// offer offers an attempt to its pool.
func (fx *effects) offer(id events.RunnableID, r *runnable, pol policy.Policy) machine.Effect {
	m := events.PoolMessage{
		Verb: events.PoolOffer, Token: fx.p.task.Token, Rank: pol.Priority.Rank(), Queue: r.Queue, Task: wire.Marshal(&fx.p.task),
	}
	return machine.Effect{Kind: machine.MessageEffect, Key: r.Pool, Runnable: id, Value: wire.Marshal(&m)}
}

// withdrawals tell pools of attempts that are not wanted any more. A pool knows of those that it has told itself to be
// lost, or has returned, and of those whose runner has told their outcome.
func (fx *effects) withdrawals(all []machine.Effect) []machine.Effect {
	for i := range fx.endings {
		e := &fx.endings[i]
		told := e.Failed && (e.Reason == events.ErrorLost || e.Reason == machine.HandedBack) || !e.Failed && e.Executor != events.OutcomeByAPI
		if e.Pool != "" && !told {
			all = append(all, fx.withdraw(e.Pool, e.Token))
		}
	}
	return all
}

func (fx *effects) withdraw(pool string, token events.Token) machine.Effect {
	return aboutAttempt(events.PoolWithdraw, pool, fx.p.sealer.Seal(token))
}

// aboutAttempt tells a pool something of an attempt that it has, or may have.
func aboutAttempt(verb events.PoolVerb, pool string, token []byte) machine.Effect {
	m := events.PoolMessage{Verb: verb, Token: token}
	return machine.Effect{Kind: machine.MessageEffect, Key: pool, Value: wire.Marshal(&m)}
}

// ask asks the pool of an attempt whether it has it. Its answer comes behind all that was said of the attempt before.
func (en *ends) ask(id events.RunnableID, r *runnable) {
	if r.Pool != "" {
		en.emit(&events.AttemptAsked{Runnable: id})
	}
}

// asked is the question of ask.
func (fx *effects) asked(all []machine.Effect, e *events.AttemptAsked) []machine.Effect {
	r := fx.runs.get(e.Runnable)
	if r == nil || r.Pool == "" {
		return all
	}
	return append(all, aboutAttempt(events.PoolInquire, r.Pool, fx.token(e.Runnable, r.Attempt, r.Decided)))
}

// toldByPool takes what a pool says of an attempt that it has, or had.
func (t *turn) toldByPool(m *events.EntityMessage) {
	said := events.PoolMessage{}
	if wire.Unmarshal(m.Body, &said) != nil {
		return
	}
	id, r := t.runs.open(said.Token)
	if r == nil || r.Pool != m.From { // it has ended meanwhile
		if said.Verb == events.PoolInquire { // and the pool has not heard of it
			t.emit(&events.AttemptDisowned{Pool: m.From, Token: said.Token})
		}
		return
	}
	switch said.Verb {
	case events.PoolLost:
		t.ends.lost(&machine.Lost{Runnable: id, Attempt: r.Attempt, Reason: events.Cut(said.Reason, events.MaxSummaryText)})
	case events.PoolReturn:
		t.returnedByPool(id, r, said.Shard)
	case events.PoolInquire: // it is open, as the pool has it
	case events.PoolOffer, events.PoolWithdraw, events.PoolAsk, events.PoolSpare: // for pools
	}
}

// returnedByPool hands an attempt back that no runner has begun. Where that happens again and again, the next one waits, unless another
// shard of the pool has free slots for it.
func (t *turn) returnedByPool(id events.RunnableID, r *runnable, shard string) {
	if t.head.Status.winding() {
		t.close(id)
		return
	}
	if r.Notified { // a runner has begun it after all
		t.ends.lost(&machine.Lost{Runnable: id, Attempt: r.Attempt, Reason: "its pool has taken it back"})
		return
	}
	due := t.now
	if n := int(r.Returns); n > 0 && shard == "" {
		due += policy.UnknownTaskDelay(n).Milliseconds()
	}
	t.emit(&events.RunnableReturned{Runnable: id, Due: due, Reason: neverBegan, Shard: shard})
	if due == t.now {
		t.queue.fresh = append(t.queue.fresh, r.place(id))
	}
}

// moved lets an attempt that nobody is known to have begun go where its queue's attempts go by now: what had it is told
// that it is not wanted there, and another one takes its place.
func (en *ends) moved(id events.RunnableID, r *runnable) {
	pol := r.policy()
	name := en.poolOf(r.Queue, r.other(pol), pol)
	if r.Notified || r.Pool == "" && name == "" || r.Pool != "" && events.IsShard(r.poolName(), name, en.p.cfg.Shards[name]) {
		return
	}
	en.emit(&events.RunnableReturned{Runnable: id, Due: en.now, Reason: neverBegan, Attempt: r.Attempt, Decided: r.Decided})
	en.queue.fresh = append(en.queue.fresh, r.place(id))
}

// poolName is the name of the pool that was offered the attempt; empty: none was.
func (r *runnable) poolName() string { return strings.TrimPrefix(r.Pool, events.PoolPrefix) }

// waitsForPool says in words what an attempt waits for that a pool has.
func waitsForPool(r *runnable) string {
	name := r.poolName()
	if r.Notified {
		return fmt.Sprintf("the runner %s of the pool %q, which runs it", r.Executor, name)
	}
	return events.AwaitsSlot(name)
}
