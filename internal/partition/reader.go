package partition

import (
	"bytes"
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// reader reads ranges of single partitions, for recovery.
type reader struct {
	cl  LogReader
	adm Admin
}

func newReader(c Cluster, adm Admin) (*reader, error) {
	cl, err := c.Logs()
	if err != nil {
		return nil, err
	}
	return &reader{cl: cl, adm: adm}, nil
}

// close may be called again.
func (r *reader) close() { r.cl.Close() }

// span is what a log holds: the offsets from Start on, below End. End is as far
// as transactions are decided.
type span struct{ Start, End int64 }

// spanOf asks where a log begins and ends.
func (r *reader) spanOf(ctx context.Context, topic string, p int32) (span, error) {
	start, err := ask(ctx, r.adm.ListStartOffsets, topic, p)
	if err != nil {
		return span{}, fmt.Errorf("asking for the start of %s/%d: %w", topic, p, err)
	}
	end, err := r.end(ctx, topic, p)
	if err != nil {
		return span{}, err
	}
	return span{start, end}, nil
}

func (r *reader) end(ctx context.Context, topic string, p int32) (int64, error) {
	end, err := ask(ctx, r.adm.ListCommittedOffsets, topic, p)
	if err != nil {
		return 0, fmt.Errorf("asking for the end of %s/%d: %w", topic, p, err)
	}
	return end, nil
}

// ask asks for an offset of one partition. The question is about all of the topic,
// and one partition without a leader keeps the answer back: no longer than this.
func ask(ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error), topic string, p int32) (int64, error) {
	ctx, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	all, err := list(ctx, topic)
	return kafka.OffsetOf(all, err, topic, p)
}

// reaches finds out whether a log still reaches an end that it had: one that
// lost its tail since would be waited for in vain.
func (r *reader) reaches(ctx context.Context, topic string, p int32, to int64) error {
	end, err := r.end(ctx, topic, p)
	if err == nil && end < to {
		err = fmt.Errorf("reading %s/%d: it ended at %d and ends at %d now", topic, p, to, end)
	}
	return err
}

// read visits the records of [from, to) in order; control records are left out.
func (r *reader) read(ctx context.Context, topic string, p int32, from, to int64, visit func(*kgo.Record) error) error {
	if from >= to {
		return nil
	}
	r.cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: kgo.NewOffset().At(from)}})
	defer r.cl.RemoveConsumePartitions(map[string][]int32{topic: {p}})
	var own error // which says where it was met
	g := kafka.Range{Topic: topic, Partition: p, From: from, To: to, Wait: askTimeout, Stalled: func(ctx context.Context, _ int64) error {
		own = r.reaches(ctx, topic, p, to)
		return own
	}}
	err := g.Read(ctx, r.cl, func(k *kgo.Record) error {
		if !k.Attrs.IsControl() {
			own = visit(k)
		}
		return own
	})
	if err == nil || own != nil {
		return err
	}
	return fmt.Errorf("reading %s/%d from %d: %w", topic, p, g.From, err)
}

// one is the record at an offset, or nil when there is none.
func (r *reader) one(ctx context.Context, topic string, p int32, offset int64) (*kgo.Record, error) {
	var found *kgo.Record
	err := r.read(ctx, topic, p, offset, offset+1, func(rec *kgo.Record) error {
		found = rec
		return nil
	})
	if kafka.IsDataLoss(err) {
		return nil, nil
	}
	return found, err
}

// last is the last record of a key, or nil when there is none. It is looked for from
// the end of the log on backwards, as most keys that are asked for are near it.
func (r *reader) last(ctx context.Context, topic string, p int32, key []byte) (*kgo.Record, error) {
	s, err := r.spanOf(ctx, topic, p)
	if err != nil {
		return nil, err
	}
	var found *kgo.Record
	for back, end := int64(8), s.End; found == nil && end > s.Start; back *= 4 {
		from := max(s.Start, end-back)
		err := r.read(ctx, topic, p, from, end, func(k *kgo.Record) error {
			if bytes.Equal(k.Key, key) {
				found = k
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		end = from
	}
	return found, nil
}
