package loop

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// decision is one input on its way to a record.
type decision struct {
	in     machine.Input
	ref    events.InputRef
	id     string       // of the ledger; empty: none
	digest uint64       // of the content, for the ledger
	raw    *kgo.Record  // the input's record; nil for timers and the engine's own
	own    events.Event // set: the partition's decision, the machine is not asked
	after  func()
}

// decide makes the record of one input, appends it and lets the next input see
// its changes. It reports whether there was anything to record.
func (p *Processor) decide(d *decision) bool {
	f := p.inflight.new()
	f.after = d.after
	f.rec = events.Record{
		Position: events.Position{Epoch: p.epoch, Seq: p.seq + 1},
		Input:    d.ref, ID: d.id, Digest: d.digest,
		Workflow: d.in.Workflow, Time: p.RecordTime(),
		ReplyTo: d.in.ReplyTo, Trace: d.in.Trace,
	}
	defect := p.suspect(d)
	if defect == "" && p.fault == nil {
		defect = p.attempt(d, f, 0)
	}
	if p.fault != nil {
		return false
	}
	if defect != "" {
		return p.quarantine(d, f, defect)
	}
	if len(f.rec.Events) == 0 {
		p.tx.Reset()
		p.inflight.done(f)
		p.Stats.Dropped.Add(1)
		return false
	}
	p.wary.recorded(d.ref.Source)
	kafkaRec := journal.Encode(&f.rec, p.Names, p.Partition)
	if limit := p.recordLimit(); len(kafkaRec.Value) > limit {
		return p.oversize(d, f, limit)
	}
	p.append(f, kafkaRec)
	p.noteInHand(d, f)
	return true
}

// noteInHand has a workflow continued that has work in hand behind a record.
func (p *Processor) noteInHand(d *decision, f *flight) {
	if f.inHand {
		p.hand.note(d.in.Workflow)
	}
}

// attempt lets the machine decide, with everything that follows, and contains
// its panics (J6). limit > 0 asks for the decision that fits.
func (p *Processor) attempt(d *decision, f *flight, limit int) (defect string) {
	return p.contained(func() { p.fill(d, f, limit) })
}

// fill fills a flight with what the machine decides.
func (p *Processor) fill(d *decision, f *flight, limit int) {
	rec := &f.rec
	var out machine.Outcome
	if d.own != nil {
		rec.Events = []events.Event{d.own}
		out = p.replayed(rec, false)
	} else {
		d.in.Limit = limit
		out = p.Machine.Decide(p.tx, rec.Position, rec.Time, d.in)
		rec.Events = out.Events
	}
	if len(rec.Events) == 0 {
		return
	}
	f.outs = p.conclude(f.outs[:0], rec, &out)
	f.outs = withOriginal(f.outs, rec, d.raw)
	f.due, f.inHand = out.Due, out.InHand
}

// replayed is what the machine makes of a record that is there already, if it is one
// of the machine's.
func (p *Processor) replayed(rec *events.Record, guarded bool) (out machine.Outcome) {
	if events.OfMachine(rec) {
		out = p.Machine.Apply(p.tx, rec, guarded)
	}
	return out
}

// contained runs f and says what defect it met; a fault is not one (J6).
func (p *Processor) contained(f func()) (defect string) {
	defer func() {
		if v := recover(); v != nil {
			defect = p.contain(v)
		}
	}()
	f()
	return ""
}

// contain tells a defect, which is contained, from a fault, which is not: with
// an unreadable state nothing is known (J6).
func (p *Processor) contain(v any) string {
	p.tx.Reset()
	if f, ok := v.(rows.Fault); ok {
		p.Fail(f)
		return ""
	}
	p.Logger.Error("contained a defect", "partition", p.Partition, "panic", v, "stack", string(debug.Stack()))
	return Shortened(fmt.Sprint(v))
}

// oversize replaces a record that does not fit by a refusal (J4).
func (p *Processor) oversize(d *decision, f *flight, limit int) bool {
	p.tx.Reset()
	p.Stats.Oversize.Add(1)
	defect := p.attempt(d, f, limit)
	if p.fault != nil {
		return false
	}
	kafkaRec := journal.Encode(&f.rec, p.Names, p.Partition)
	if defect == "" && len(f.rec.Events) == 0 {
		defect = "the decision does not fit a record and has no refusal"
	} else if defect == "" && len(kafkaRec.Value) > limit {
		defect = fmt.Sprintf("the refusal of a decision that does not fit has %d bytes, the limit is %d", len(kafkaRec.Value), limit)
	}
	if defect != "" {
		return p.quarantine(d, f, defect)
	}
	p.append(f, kafkaRec)
	p.noteInHand(d, f)
	return true
}

// quarantine dead-letters an input that met a defect: the workflow is as it was,
// the input goes to the dlq, and a timer does not fire again (J6).
func (p *Processor) quarantine(d *decision, f *flight, defect string) bool {
	p.tx.Reset()
	p.Stats.Quarantined.Add(1)
	event := &events.WorkflowQuarantined{Reason: defect}
	if d.in.Timer != nil {
		event.Timer = d.in.Timer.Append(nil)
	}
	rec := &f.rec
	rec.Events = []events.Event{event}
	f.outs = p.conclude(f.outs[:0], rec, &machine.Outcome{})
	f.outs = withOriginal(f.outs, rec, d.raw)
	f.due, f.inHand = false, false
	p.append(f, journal.Encode(rec, p.Names, p.Partition))
	return true
}

// record appends an event of the partition itself. The command that it obeys, if there
// is one, is a repetition when it is read in its turn.
func (p *Processor) record(e events.Event, word *events.Command) {
	f := p.inflight.new()
	f.rec = events.Record{Position: events.Position{Epoch: p.epoch, Seq: p.seq + 1}, Time: p.RecordTime(), Events: []events.Event{e}}
	if word != nil {
		f.rec.Workflow, f.rec.ID, f.rec.Digest = word.Workflow, word.DedupeID(), word.Digest
	}
	p.conclude(nil, &f.rec, &machine.Outcome{})
	p.append(f, journal.Encode(&f.rec, p.Names, p.Partition))
}

// append sends a decided record to the journal and runs ahead.
func (p *Processor) append(f *flight, k *kgo.Record) {
	rec, writes := &f.rec, p.tx.Writes()
	p.seq = rec.Position.Seq
	p.tail = p.tail.Next(rec.Position, p.tail.Offset, k.Value)
	p.n++
	f.n, f.mark, f.size, f.ran = p.n, p.tail, len(k.Value)+len(k.Key)+64, p.clock.ran
	f.tries = appendTries(f.tries, writes)
	for _, s := range Inputs {
		f.read[s] = p.inputs[s].Reached()
	}
	p.tell(f)
	p.State.Apply(writes, p.n)
	p.ended.applied(writes)
	if rec.ID != "" || founds(writes) {
		p.names.note(rec.Workflow)
	}
	p.timers.note(writes)
	p.tx.Reset()
	p.inflight.push(f)
	p.done.appended++
	p.Log.Append(k, rec.Position.Seq)
	p.outside.releaseEarly(f)
}

// founds reports whether changes bring an entity its first rows without an id by which the ledger would know it, as what
// executors report of runners does to pools.
func founds(writes []rows.Write) bool {
	for i := range writes {
		if writes[i].Created && writes[i].Key.Table == rows.Header {
			return true
		}
	}
	return false
}

// recordLimit is the largest value of a journal record.
func (p *Processor) recordLimit() int {
	limit := p.Settings.RecordBytes
	if learnt := int(p.Stats.recordLimit.Load()); learnt > 0 {
		limit = min(limit, learnt)
	}
	return limit
}

// About is the event that says what a record is about. No owner writes a record
// without events; a lawful one changes nothing, and is about nothing.
func About(rec *events.Record) events.Event {
	if len(rec.Events) == 0 {
		return nil
	}
	return rec.Events[0]
}

// Shortened is as much of an error's text as an event holds.
func Shortened(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), reasonBytes)], "")
}
