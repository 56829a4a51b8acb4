package loop

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// outside is what is released and not acknowledged, what waits for the lease, and
// what waits for a record that is not its own. All count in the bound of the loop. The broker, or its absence, answers
// for each in bounded time; what it does not take is parked (parked.go).
type outside struct {
	*Processor
	records int
	bytes   int
	held    []*Outgoing // until the lease has its margin again (E5)
}

// fromEffects appends the machine's effects of a record, numbered in their order.
func (fx *outside) fromEffects(outs []*Outgoing, made []machine.Effect, rec *events.Record) []*Outgoing {
	for i := range made {
		o := fromEffect(&made[i], rec.Position, uint64(i))
		switch o.Kind {
		case machine.MessageEffect:
			o.Value = fx.intake.message(o, rec)
		case machine.EmitEffect:
			o.Topic, o.Headers = made[i].Topic, fx.intake.emission(o, rec, made[i].Type).Headers()
		default: // it says all about itself
		}
		outs = append(outs, o)
	}
	return outs
}

// fromEffect makes the outgoing record of an effect. Tasks need no outbox: they
// are made again from open attempts (E1).
func fromEffect(e *machine.Effect, at events.Position, number uint64) *Outgoing {
	return &Outgoing{
		Kind: e.Kind, Key: e.Key, Queue: e.Queue, Runnable: e.Runnable, Spread: e.Spread, Value: e.Value,
		Decided: at, Number: number, early: e.Early, kept: e.Kind != machine.TaskEffect,
	}
}

// release sends an effect, behind what waits for the same destination.
func (fx *outside) release(o *Outgoing) {
	if o.sent {
		if o.out { // before its journal record: only now there is an attempt to watch
			fx.placed(o)
		}
		return
	}
	o.sent = true
	if fx.parked.queued(o) {
		fx.without(o)
	} else {
		fx.letGo(o)
	}
}

// with counts an effect, once.
func (fx *outside) with(o *Outgoing) {
	if !o.counted {
		o.counted = true
		fx.records++
		fx.bytes += o.size()
	}
}

// without ends that.
func (fx *outside) without(o *Outgoing) {
	if o.counted {
		o.counted = false
		fx.records--
		fx.bytes -= o.size()
	}
}

// letGo sends an effect, or keeps it until the lease allows it (E5).
func (fx *outside) letGo(o *Outgoing) {
	fx.with(o)
	if fx.Flaws.LateEffects.On() && o.from != nil || !fx.hold(o) {
		fx.done.released++
		fx.Log.Produce(o)
	}
}

// ReleaseAgain sends an effect that was released and could not be sent then.
func (p *Processor) ReleaseAgain(o *Outgoing) {
	if p.Flaws.LateEffects.On() || !p.outside.hold(o) {
		p.Log.Produce(o)
	}
}

// hold keeps an effect while the lease has not its margin, and reports whether it
// did (E5).
func (fx *outside) hold(o *Outgoing) bool {
	if fx.Leased() {
		return false
	}
	fx.held = append(fx.held, o)
	return true
}

// releaseEarly lets the tasks of mode async out with the append of their record.
func (fx *outside) releaseEarly(f *flight) {
	for _, o := range f.outs {
		if o.early || fx.Flaws.EarlyEffects.On() {
			fx.release(o)
		}
	}
}

// unhold releases what waited for the lease.
func (fx *outside) unhold() {
	held := fx.held
	fx.held = nil
	for _, o := range held {
		fx.done.released++
		fx.Log.Produce(o)
	}
}

// produced takes the outcome of an effect.
func (fx *outside) produced(r *Produced) {
	o := r.Out
	if o.parked {
		fx.parked.overtaken(o)
		return
	}
	fx.without(o)
	shut := r.Unavailable != Destination{}
	switch {
	case shut:
		fx.parked.park(o, r.Unavailable, r.Err)
	case r.Err != nil:
		fx.refusedForGood(o, r.Err)
	default:
		fx.isOut(o, r)
	}
	if o.from != nil {
		fx.parked.answered(o.from, shut)
	}
}

// placed tells where the task record of an attempt is, if it is one.
func (fx *outside) placed(o *Outgoing) {
	if o.Kind == machine.TaskEffect {
		fx.watch.out(o, fx.clock.now)
	}
}

// isOut takes the acknowledgement of an effect.
func (fx *outside) isOut(o *Outgoing, r *Produced) {
	o.out = true
	if o.written {
		fx.acked = append(fx.acked, o.Row())
	}
	o.partition, o.offset = r.Partition, r.Offset
	fx.placed(o)
}

// refusedForGood makes an input of an effect that will never be out (J4): for a
// task the attempt is lost, so that its policy decides; for anything else
// EffectFailed ends it.
func (fx *outside) refusedForGood(o *Outgoing, err error) {
	fx.Stats.Failed.Add(1)
	fx.Logger.Warn("an effect was refused for good", "partition", fx.Partition, "workflow", o.Key, "kind", KindName(o.Kind), "error", err)
	reason := Shortened(err.Error())
	if o.Kind == machine.TaskEffect {
		fx.watch.giveUp(attemptKey{o.Key, o.Runnable}, o.Decided, "its task record cannot be delivered: "+reason)
		return
	}
	if !o.kept {
		fx.refuseAnswer(o, reason)
		return
	}
	if o.Kind == machine.MessageEffect && o.Runnable != 0 { // an attempt that was offered to a pool
		if m, err := events.DecodeInbox(o.Value); err == nil {
			fx.watch.giveUp(attemptKey{m.(*events.EntityMessage).From, o.Runnable}, o.Decided, "it cannot be offered to its pool: "+reason)
		}
	}
	fx.urgent = append(fx.urgent, func() bool { return fx.effectFailed(o, reason) })
}

// effectFailed records that an effect is over. Until that is acknowledged the
// outbox has the effect, as if it were on its way (E1).
func (fx *outside) effectFailed(o *Outgoing, reason string) bool {
	d := &decision{own: &events.EffectFailed{
		Kind: KindName(o.Kind), Epoch: o.Decided.Epoch, Seq: o.Decided.Seq, Number: o.Number, Reason: reason,
	}}
	if o.Kind != machine.ReplyEffect {
		d.in.Workflow = o.Key
	}
	d.after = func() {
		o.out = true
		fx.refuseAnswer(o, reason)
	}
	return fx.decide(d)
}

// refuseAnswer tells the client of a query that its answer does not fit: the
// next one would not either.
func (fx *outside) refuseAnswer(o *Outgoing, reason string) {
	if small := refusedReply(o.Value, reason); o.Kind == machine.ReplyEffect && small != nil {
		fx.release(&Outgoing{Kind: machine.ReplyEffect, Key: o.Key, Value: small})
	}
}

// refusedReply is what a caller gets whose answer does not fit.
func refusedReply(value []byte, reason string) []byte {
	var r events.Reply
	if json.Unmarshal(value, &r) != nil || r.Body == nil {
		return nil
	}
	r.Body = nil
	r.Refusal = &events.Refusal{Code: "too_large", Message: "the answer does not fit a record: " + reason + "; ask for less at a time: a smaller limit, or a part of it"}
	return encodeReply(r)
}

func encodeReply(r events.Reply) []byte { return events.EncodeReply(&r) }

// KindName is what people call a kind of effect.
func KindName(k machine.EffectKind) string {
	switch k {
	case machine.TaskEffect:
		return "task"
	case machine.CancelEffect:
		return "cancel"
	case machine.ReplyEffect:
		return "reply"
	case machine.StatusEffect:
		return "status"
	case machine.DLQEffect:
		return "dlq"
	case machine.ForwardEffect:
		return "forward"
	case machine.MessageEffect:
		return "message"
	case machine.EmitEffect:
		return "emit"
	case machine.NoticeEffect:
		return "notice"
	case machine.RunnerEffect:
		return "runner"
	}
	return fmt.Sprintf("effect %d", k)
}

// failedRow is the outbox row that an EffectFailed record ends.
func failedRow(e *events.EffectFailed) rows.Key {
	return rows.Key{Table: rows.Outbox, A: e.Epoch, B: e.Seq, C: e.Number}
}
