package partition

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
)

// remakeOriginals gives the effects of replayed records their inputs' bytes, for
// rerelease to find. Of an input that is gone its effect is refused for good.
func (r *tenure) remakeOriginals(ctx context.Context) error {
	waiting, err := r.proc.Originals()
	if err != nil {
		return err
	}
	for _, s := range loop.Inputs {
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

// Originals are read together that are not far from each other.
const (
	nearOriginals = 256 // offsets between two of them
	mostOriginals = 64  // at a time: their bytes are in memory
)

// near is how many of the first effects have their inputs close to each other.
func near(some []*loop.Outgoing) int {
	n := 1
	for n < len(some) && n < mostOriginals && some[n].Original.Offset-some[n-1].Original.Offset <= nearOriginals {
		n++
	}
	return n
}

// remakeSome reads the inputs of some effects, and puts these into the outbox as
// they are to be sent.
func (r *tenure) remakeSome(ctx context.Context, s events.Source, some []*loop.Outgoing) error {
	found, err := r.inputsOf(ctx, s, some)
	if err != nil {
		return err
	}
	made := some[:0]
	for _, o := range some {
		k := found[o.Original.Offset]
		if k == nil || loop.DigestOf(k) != o.Original.Digest {
			r.proc.InputGone(o)
			continue
		}
		o.Carry(k)
		made = append(made, o)
	}
	return r.proc.Remade(made)
}

// inputsOf reads what is still there of the inputs of some effects.
func (r *tenure) inputsOf(ctx context.Context, s events.Source, some []*loop.Outgoing) (map[int64]*kgo.Record, error) {
	topic := r.host.router.Topic(s)
	log, err := r.read.spanOf(ctx, topic, r.o.p)
	if err != nil {
		return nil, err
	}
	found := map[int64]*kgo.Record{}
	for _, o := range some {
		found[o.Original.Offset] = nil
	}
	from, to := max(log.Start, some[0].Original.Offset), min(log.End, some[len(some)-1].Original.Offset+1)
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
