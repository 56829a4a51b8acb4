package equivalence

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/sim/workload"
	"github.com/heddle-run/heddle/shared/events"
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

// commands are the ids of all commands that the topic has, by workflow.
func (w *world) commands(ctx context.Context) (map[string]bool, error) {
	admin, err := kafka.NewAdmin(w.cluster.Config)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	topic := w.cluster.Topics.Commands()
	ends, err := kadm.NewClient(admin).ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	left := int64(0)
	ends.Each(func(o kadm.ListedOffset) { left += o.Offset })
	cl, err := kafka.NewTail(w.cluster.Config, kafka.FromStart, topic)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	ids := map[string]bool{}
	for left > 0 {
		fetches := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("%d records of %s are not read: %w", left, topic, err)
		}
		fetches.EachRecord(func(k *kgo.Record) {
			left--
			ids[workload.CommandID(k)] = true
		})
	}
	return ids, nil
}
