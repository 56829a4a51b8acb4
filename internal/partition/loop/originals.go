package loop

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// originalRow is where the input is whose own bytes an effect carries, and what
// else the effect says: of a forward nothing, of a letter why it is one. Replay
// does not have the bytes. Its outbox row has this in their place, in the batch
// that moves the applied mark: whichever owner comes to serve reads the input again.
type originalRow struct {
	Source   events.Source
	Offset   int64
	Digest   uint32
	Workflow string
	Reason   string
	Path     string
}

// Fields implements wire.Message.
func (o *originalRow) Fields(c *wire.Codec) {
	wire.Int(c, 1, "source", &o.Source)
	wire.Int(c, 2, "offset", &o.Offset)
	wire.Int(c, 3, "digest", &o.Digest)
	wire.String(c, 4, "workflow", &o.Workflow)
	wire.String(c, 5, "reason", &o.Reason)
	wire.String(c, 6, "path", &o.Path)
}

// originalOf is the effect of a record that carries its input's own bytes, without
// them; nil: it has none.
func originalOf(rec *events.Record, number int) *Outgoing {
	in := &rec.Input
	if in.Source != events.FromCommands && in.Source != events.FromInbox {
		return nil
	}
	row := &originalRow{Source: in.Source, Offset: in.Offset, Digest: in.Digest, Workflow: rec.Workflow}
	out := &Outgoing{
		Kind: machine.DLQEffect, Key: rec.Workflow, Decided: rec.Position, Number: uint64(number), kept: true, Original: row,
	}
	switch e := About(rec).(type) {
	case *events.InputForwarded:
		out.Kind = machine.ForwardEffect
	case *events.InputRejected:
		row.Reason, row.Path = e.Reason, e.Path
	case *events.WorkflowQuarantined:
		row.Reason = "quarantined: " + e.Reason
	case *events.CommandRefused:
		if rec.ReplyTo.Address != "" {
			return nil // the sender is told
		}
		row.Reason, row.Path = e.Code+": "+e.Message, e.Path
	default:
		return nil
	}
	return out
}

// Carry gives an effect the bytes of its input.
func (o *Outgoing) Carry(r *kgo.Record) {
	o.Key = string(r.Key)
	if o.Kind == machine.ForwardEffect {
		o.Log, o.Headers, o.Value = o.Original.Source, forwardHeaders(r, o.Original.Source), clone(r.Value)
	} else {
		o.Value = deadLetter(r, o.Decided, o.Original)
	}
	o.Original = nil
}

// withOriginal adds the effect of a record that carries its input's own bytes, if
// it has one. r is the input; nil: it is read again when somebody serves.
func withOriginal(outs []*Outgoing, rec *events.Record, r *kgo.Record) []*Outgoing {
	o := originalOf(rec, len(outs))
	if o == nil {
		return outs
	}
	if r != nil {
		o.Carry(r)
	}
	return append(outs, o)
}

// Originals are the effects whose inputs are to be read again, by log and in its order.
func (p *Processor) Originals() (waiting [Logs][]*Outgoing, err error) {
	err = scanOutbox(p.Stored, func(k rows.Key, row *outboxRow) {
		if row.Original != nil && row.Original.Source < Logs {
			waiting[row.Original.Source] = append(waiting[row.Original.Source], outgoing(k, row))
		}
	})
	if p.Flaws.OriginalsInMemory.On() {
		for _, o := range p.remembered {
			waiting[o.Original.Source] = append(waiting[o.Original.Source], o)
		}
	}
	for _, some := range waiting {
		slices.SortStableFunc(some, func(a, b *Outgoing) int { return int(a.Original.Offset - b.Original.Offset) })
	}
	return waiting, err
}

// Remade puts effects into the outbox as they are to be sent.
func (p *Processor) Remade(outs []*Outgoing) error {
	more := make([]rows.Write, 0, len(outs))
	for _, o := range outs {
		more = append(more, rows.Write{Key: o.Row(), Row: o.outboxRow()})
	}
	return p.State.Commit(p.storedN, p.stored, more)
}

// InputGone lets an effect be recorded as over whose input is not there any more.
func (p *Processor) InputGone(o *Outgoing) {
	const reason = "its input is gone"
	p.Logger.Warn("an effect cannot be made again: its input is gone", "position", o.Decided.String(), "kind", KindName(o.Kind), "log", o.Original.Source.String(), "offset", o.Original.Offset)
	p.Stats.Failed.Add(1)
	p.urgent = append(p.urgent, func() bool { return p.outside.effectFailed(o, reason) })
}
