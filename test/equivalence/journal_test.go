package equivalence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// journals reads the lawful records of all partitions.
func (w *world) journals(ctx context.Context) ([][]*events.Record, error) {
	r, err := journal.NewReader(w.cluster.Config)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all := make([][]*events.Record, w.plan.partitions)
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
			ids[commandID(k)] = true
		})
	}
	return ids, nil
}

func commandID(k *kgo.Record) string {
	var id, source string
	for _, h := range k.Headers {
		switch h.Key {
		case events.HeaderID:
			id = string(h.Value)
		case events.HeaderSource:
			source = string(h.Value)
		}
	}
	return string(k.Key) + "\x00" + source + "\x00" + id
}

// checkCommands holds that every command that the topic took is decided by
// exactly one record.
func checkCommands(sent map[string]bool, journals [][]*events.Record) error {
	decided := map[string]int{}
	for _, records := range journals {
		for _, rec := range records {
			if rec.Input.Source == events.FromCommands {
				decided[rec.Workflow+"\x00"+rec.ID]++
			}
		}
	}
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(sent)) {
		if n := decided[id]; n != 1 {
			errs = append(errs, fmt.Errorf("the command %q has %d records", strings.ReplaceAll(id, "\x00", " "), n))
		}
		delete(decided, id)
	}
	for _, id := range slices.Sorted(maps.Keys(decided)) {
		errs = append(errs, fmt.Errorf("nobody sent %q", strings.ReplaceAll(id, "\x00", " ")))
	}
	return errors.Join(errs...)
}
