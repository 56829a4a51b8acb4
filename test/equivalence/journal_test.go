package equivalence

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// journals reads the lawful records of all partitions.
func (w *world) journals(ctx context.Context) ([][]*events.Record, error) {
	r, err := journal.NewReader(w.cluster.Config)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all := make([][]*events.Record, w.plan.Partitions)
	for p := range all {
		_, err := r.Read(ctx, journal.Range{Partition: int32(p), To: journal.Now}, func(e journal.Entry) error {
			all[p] = append(all[p], e.Record)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// commands are the ids of all commands that the topic has, of its client's and of
// those of strangers that can be understood.
func (w *world) commands(ctx context.Context) (ours, others map[string]bool, err error) {
	ours, others = map[string]bool{}, map[string]bool{}
	err = w.readAll(ctx, w.cluster.Topics.Commands(), func(k *kgo.Record) {
		switch how, is := kafka.FindHeader(k, strange); {
		case ofOperator(workload.CommandID(k)): // a record of the engine's obeys it
		case !is:
			ours[workload.CommandID(k)] = true
		case string(how) != bad:
			others[workload.CommandID(k)] = true
		}
	})
	return ours, others, err
}

// readAll reads what a topic has that nobody writes to any more.
func (w *world) readAll(ctx context.Context, topic string, each func(*kgo.Record)) error {
	left := int64(0)
	for p := range w.plan.Partitions {
		begin, end, err := w.bounds(ctx, topic, p)
		if err != nil {
			return err
		}
		left += end - begin
	}
	cl, err := kafka.NewTail(w.cluster.Config, kafka.FromStart, topic)
	if err != nil {
		return err
	}
	defer cl.Close()
	for left > 0 {
		fetches := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%d records of %s are not read: %w", left, topic, err)
		}
		fetches.EachRecord(func(k *kgo.Record) {
			left--
			each(k)
		})
	}
	return nil
}
