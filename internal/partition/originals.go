package partition

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
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
		Kind: machine.DLQEffect, Key: rec.Workflow, Decided: rec.Position, Number: uint64(number), kept: true, original: row,
	}
	switch e := about(rec).(type) {
	case *events.InputForwarded:
		out.Kind = machine.ForwardEffect
	case *events.InputRejected:
		row.Reason, row.Path = e.Reason, e.Path
	case *events.WorkflowQuarantined:
		row.Reason = "quarantined: " + e.Reason
	case *events.CommandRefused:
		if rec.ReplyTo.Address != "" {
			return nil // whoever asked is told
		}
		row.Reason, row.Path = e.Code+": "+e.Message, e.Path
	default:
		return nil
	}
	return out
}

// carry gives an effect the bytes of its input.
func (o *Outgoing) carry(r *kgo.Record) {
	o.Key = string(r.Key)
	if o.Kind == machine.ForwardEffect {
		o.Log, o.Headers, o.Value = o.original.Source, forwardHeaders(r, o.original.Source), clone(r.Value)
	} else {
		o.Value = deadLetter(r, o.Decided, o.original)
	}
	o.original = nil
}

// withOriginal adds the effect of a record that carries its input's own bytes, if
// it has one. r is the input; nil: it is read again when somebody serves.
func withOriginal(outs []*Outgoing, rec *events.Record, r *kgo.Record) []*Outgoing {
	o := originalOf(rec, len(outs))
	if o == nil {
		return outs
	}
	if r != nil {
		o.carry(r)
	}
	return append(outs, o)
}

// remakeOriginals gives the effects of replayed records their inputs' bytes, for
// rerelease to find. Of an input that is gone its effect is refused for good (J4).
func (r *reign) remakeOriginals(ctx context.Context) error {
	waiting, err := r.proc.originals(r.store)
	if err != nil {
		return err
	}
	for _, s := range inputs {
		some := waiting[s]
		for len(some) > 0 {
			n := near(some)
			if err := r.remakeSome(ctx, s, some[:n]); err != nil {
				return err
			}
			some = some[n:]
		}
	}
	return nil
}

// originals are the effects whose inputs are to be read again, by log and in its order.
func (p *Processor) originals(s rowScanner) (waiting [logs][]*Outgoing, err error) {
	err = scanOutbox(s, func(k rows.Key, row *outboxRow) {
		if row.Original != nil && row.Original.Source < logs {
			waiting[row.Original.Source] = append(waiting[row.Original.Source], outgoing(k, row))
		}
	})
	if p.Flaws.OriginalsInMemory {
		for _, o := range p.remembered {
			waiting[o.original.Source] = append(waiting[o.original.Source], o)
		}
	}
	for _, some := range waiting {
		slices.SortStableFunc(some, func(a, b *Outgoing) int { return int(a.original.Offset - b.original.Offset) })
	}
	return waiting, err
}

// Originals are read together that are not far from each other.
const (
	nearOriginals = 256 // offsets between two of them
	mostOriginals = 64  // at a time: their bytes are in memory
)

// near is how many of the first effects have their inputs close to each other.
func near(some []*Outgoing) int {
	n := 1
	for n < len(some) && n < mostOriginals && some[n].original.Offset-some[n-1].original.Offset <= nearOriginals {
		n++
	}
	return n
}

// remakeSome reads the inputs of some effects, and puts these into the outbox as
// they are to be sent.
func (r *reign) remakeSome(ctx context.Context, s events.Source, some []*Outgoing) error {
	found, err := r.inputsOf(ctx, s, some)
	if err != nil {
		return err
	}
	var more []rows.Write
	for _, o := range some {
		k := found[o.original.Offset]
		if k == nil || digestOf(k) != o.original.Digest {
			r.gone(o)
			continue
		}
		o.carry(k)
		more = append(more, rows.Write{Key: o.row(), Row: o.outboxRow()})
	}
	p := r.proc
	return p.State.Commit(p.storedN, p.stored, more)
}

// inputsOf reads what is still there of the inputs of some effects.
func (r *reign) inputsOf(ctx context.Context, s events.Source, some []*Outgoing) (map[int64]*kgo.Record, error) {
	topic := r.host.router.topic(s)
	log, err := r.read.spanOf(ctx, topic, r.o.p)
	if err != nil {
		return nil, err
	}
	found := map[int64]*kgo.Record{}
	for _, o := range some {
		found[o.original.Offset] = nil
	}
	from, to := max(log.Start, some[0].original.Offset), min(log.End, some[len(some)-1].original.Offset+1)
	err = r.read.read(ctx, topic, r.o.p, from, to, func(k *kgo.Record) error {
		if _, wanted := found[k.Offset]; wanted {
			found[k.Offset] = k
		}
		return nil
	})
	if kafka.IsDataLoss(err) { // the log has changed since it was asked for its ends
		return nil, fmt.Errorf("reading inputs again: %w", err)
	}
	return found, err
}

// gone lets an effect be recorded as over whose input is not there any more.
func (r *reign) gone(o *Outgoing) {
	const reason = "its input is gone"
	r.o.logger.Warn("an effect cannot be made again: its input is gone", "position", o.Decided.String(), "kind", kindName(o.Kind), "log", o.original.Source.String(), "offset", o.original.Offset)
	p := r.proc
	p.Stats.Failed.Add(1)
	p.urgent = append(p.urgent, func() bool { return p.effectFailed(o, reason) })
}
