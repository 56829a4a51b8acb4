package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maintainEvery is how often retention is applied and growth looked at.
	maintainEvery = 30 * time.Second

	// compactMin is how much compacted topics may grow before it is worth
	// compacting them: kfake stops everything else meanwhile and holds what
	// survives in memory.
	compactMin = 64 << 20
)

// maintain applies retention and compacts, until the context ends. kfake would
// do both by itself on a ticker; it is switched off because its compaction
// deletes the old segments before it writes the new ones (a crash in between
// loses a changelog) and lets records of an open transaction supersede
// committed ones (an abort then loses both).
func (b *Broker) maintain(ctx context.Context) {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	compacted := int64(0) // bytes after the last compaction
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		b.cluster.ApplyRetention()
		topics, size, err := b.compactable(ctx)
		if err == nil && size > 2*compacted+compactMin {
			compacted, err = b.compact(ctx, topics)
		}
		if err != nil && !errors.Is(err, errOpenTransaction) && ctx.Err() == nil {
			b.log.Warn("broker: compaction", "error", err)
		}
	}
}

// Compact compacts the compacted topics now. It does nothing, and says so, when
// a transaction is open on one of them.
func (b *Broker) Compact(ctx context.Context) error {
	topics, _, err := b.compactable(ctx)
	if err != nil {
		return err
	}
	_, err = b.compact(ctx, topics)
	return err
}

var errOpenTransaction = errors.New("a transaction is open on a compacted topic")

// compact keeps the old segments under a second name until the new ones are on
// disk. Nothing is appended meanwhile, so a crash at any point leaves either
// the old state or the new one.
func (b *Broker) compact(ctx context.Context, topics []string) (size int64, err error) {
	err = b.exclusively(ctx, func() error {
		for _, t := range topics {
			for _, p := range b.cluster.PartitionInfos(t) {
				if p.LastStableOffset < p.HighWatermark {
					return errOpenTransaction
				}
			}
		}
		keep, err := keepSegments(b.opts.Dir, topics)
		if err != nil {
			return fmt.Errorf("keep the segments to compact: %w", err)
		}
		b.cluster.Compact()
		size = b.sizeOf(topics)
		return keep.drop()
	})
	return size, err
}

// compactable are the compacted topics and their size together.
func (b *Broker) compactable(ctx context.Context) ([]string, int64, error) {
	names, err := b.topicNames(ctx)
	if err != nil {
		return nil, 0, err
	}
	var out []string
	for _, name := range names {
		info := b.cluster.TopicInfo(name)
		if info == nil {
			continue // deleted meanwhile
		}
		if policy := info.Configs["cleanup.policy"]; policy != nil && *policy == "compact" {
			out = append(out, name)
		}
	}
	return out, b.sizeOf(out), nil
}

func (b *Broker) sizeOf(topics []string) (bytes int64) {
	for _, t := range topics {
		for _, p := range b.cluster.PartitionInfos(t) {
			bytes += p.NumBytes
		}
	}
	return bytes
}

func (b *Broker) topicNames(ctx context.Context) ([]string, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = nil // all of them
	resp, err := req.RequestWith(ctx, b.client)
	if err != nil {
		return nil, fmt.Errorf("list the embedded broker's topics: %w", err)
	}
	var names []string
	for _, t := range resp.Topics {
		names = append(names, *t.Topic)
	}
	return names, nil
}
