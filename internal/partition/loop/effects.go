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
	records int
	bytes   int
	held    []*Outgoing // until the lease has its margin again (E5)
}

// fromEffects appends the machine's effects of a record, numbered in their order.
func (p *Processor) fromEffects(outs []*Outgoing, made []machine.Effect, rec *events.Record) []*Outgoing {
	for i := range made {
		o := fromEffect(&made[i], rec.Position, uint64(i))
		switch o.Kind {
		case machine.MessageEffect:
			o.Value = p.message(o, rec)
		case machine.EmitEffect:
			o.Topic, o.Headers = made[i].Topic, p.emission(o, rec, made[i].Type).Headers()
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
func (p *Processor) release(o *Outgoing) {
	if o.sent {
		if o.out { // before its journal record: only now there is an attempt to watch
			p.placed(o)
		}
		return
	}
	o.sent = true
	if p.queued(o) {
		p.outside.without(o)
	} else {
		p.letGo(o)
	}
}

// with counts an effect, once.
func (out *outside) with(o *Outgoing) {
	if !o.counted {
		o.counted = true
		out.records++
		out.bytes += o.size()
	}
}

// without ends that.
func (out *outside) without(o *Outgoing) {
	if o.counted {
		o.counted = false
		out.records--
		out.bytes -= o.size()
	}
}

// letGo sends an effect, or keeps it until the lease allows it (E5).
func (p *Processor) letGo(o *Outgoing) {
	p.outside.with(o)
	if p.Flaws.LateEffects.On() && o.from != nil || !p.hold(o) {
		p.done.released++
		p.Log.Produce(o)
	}
}

// ReleaseAgain sends an effect that was released and could not be sent then
// (E5).
func (p *Processor) ReleaseAgain(o *Outgoing) {
	if p.Flaws.LateEffects.On() || !p.hold(o) {
		p.Log.Produce(o)
	}
}

// hold keeps an effect while the lease has not its margin, and reports whether it
// did (E5).
func (p *Processor) hold(o *Outgoing) bool {
	if p.Leased() {
		return false
	}
	p.outside.held = append(p.outside.held, o)
	return true
}

// releaseEarly lets the tasks of mode async out with the append of their record.
func (p *Processor) releaseEarly(f *flight) {
	for _, o := range f.outs {
		if o.early || p.Flaws.EarlyEffects.On() {
			p.release(o)
		}
	}
}

// unhold releases what waited for the lease.
func (p *Processor) unhold() {
	held := p.outside.held
	p.outside.held = nil
	for _, o := range held {
		p.done.released++
		p.Log.Produce(o)
	}
}

// produced takes the outcome of an effect.
func (p *Processor) produced(r *Produced) {
	o := r.Out
	if o.parked {
		p.overtaken(o)
		return
	}
	p.outside.without(o)
	shut := r.Unavailable != Destination{}
	switch {
	case shut:
		p.park(o, r.Unavailable, r.Err)
	case r.Err != nil:
		p.refusedForGood(o, r.Err)
	default:
		p.isOut(o, r)
	}
	if o.from != nil {
		p.answered(o.from, shut)
	}
}

// placed tells where the task record of an attempt is, if it is one.
func (p *Processor) placed(o *Outgoing) {
	if o.Kind == machine.TaskEffect {
		p.watch.out(o, p.clock.now)
	}
}

// isOut takes the acknowledgement of an effect.
func (p *Processor) isOut(o *Outgoing, r *Produced) {
	o.out = true
	if o.written {
		p.acked = append(p.acked, o.Row())
	}
	o.partition, o.offset = r.Partition, r.Offset
	p.placed(o)
}

// refusedForGood makes an input of an effect that will never be out (J4): for a
// task the attempt is lost, so that its policy decides; for anything else
// EffectFailed ends it.
func (p *Processor) refusedForGood(o *Outgoing, err error) {
	p.Stats.Failed.Add(1)
	p.Logger.Warn("an effect was refused for good", "partition", p.Partition, "workflow", o.Key, "kind", KindName(o.Kind), "error", err)
	reason := Shortened(err.Error())
	if o.Kind == machine.TaskEffect {
		p.giveUp(attemptKey{o.Key, o.Runnable}, o.Decided, "its task record cannot be delivered: "+reason)
		return
	}
	if !o.kept {
		p.refuseAnswer(o, reason)
		return
	}
	p.urgent = append(p.urgent, func() bool { return p.effectFailed(o, reason) })
}

// effectFailed records that an effect is over. Until that is acknowledged the
// outbox has the effect, as if it were on its way (E1).
func (p *Processor) effectFailed(o *Outgoing, reason string) bool {
	d := &decision{own: &events.EffectFailed{
		Kind: KindName(o.Kind), Epoch: o.Decided.Epoch, Seq: o.Decided.Seq, Number: o.Number, Reason: reason,
	}}
	if o.Kind != machine.ReplyEffect {
		d.in.Workflow = o.Key
	}
	d.after = func() {
		o.out = true
		p.refuseAnswer(o, reason)
	}
	return p.decide(d)
}

// refuseAnswer tells the client of a query that its answer does not fit: the
// next one would not either.
func (p *Processor) refuseAnswer(o *Outgoing, reason string) {
	if small := refusedReply(o.Value, reason); o.Kind == machine.ReplyEffect && small != nil {
		p.release(&Outgoing{Kind: machine.ReplyEffect, Key: o.Key, Value: small})
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
	}
	return fmt.Sprintf("effect %d", k)
}

// failedRow is the outbox row that an EffectFailed record ends.
func failedRow(e *events.EffectFailed) rows.Key {
	return rows.Key{Table: rows.Outbox, A: e.Epoch, B: e.Seq, C: e.Number}
}
