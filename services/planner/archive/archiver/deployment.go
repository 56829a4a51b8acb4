package archiver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/definitions"
	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/shared/events"
)

// Deployment is what an archiver asks of a deployment, or of a model of one. Its methods may be called by several goroutines.
type Deployment interface {
	// Read asks a planner. What it refuses is a *request.RefusedError.
	Read(ctx context.Context, q events.Query) (json.RawMessage, error)
	// Canonical is the canonical form of a registered definition.
	Canonical(digest string) ([]byte, bool)
	// Tell gives records to planners. They have them when it returns nil.
	Tell(ctx context.Context, words []*kgo.Record) error
	// Commit lets the journal's owner trim what is below an offset.
	Commit(ctx context.Context, partition int32, offset int64) error
}

// Parts are what an archiver that is no member of a group is made of.
type Parts struct {
	Deployment Deployment
	Names      topics.Names
	Topic      string // id of the journal's topic; at least 8 digits
	Reader     *journal.Reader
	AtOnce     int // runs that are written at a time
}

// Keep archives a partition until ctx ends. Of the configuration it needs the store, the settings and the name.
func Keep(ctx context.Context, cfg Config, p Parts, partition int32) error {
	m, err := newMetrics(nil)
	if err != nil {
		return err
	}
	a := &Archiver{
		cfg: cfg, logger: cfg.Logger, names: p.Names, topic: p.Topic, reader: p.Reader, deployment: p.Deployment, atOnce: p.AtOnce,
		store: &metered{cfg.Store, m}, metrics: m, known: newKnown(),
	}
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	a.cfg.Settings = a.cfg.Settings.Complete()
	a.keep(ctx, partition)
	return nil
}

// cluster is a deployment in a Kafka cluster.
type cluster struct {
	*request.Client
	*definitions.Book
	journal string // its topic
	out     *kgo.Client
	member  *kgo.Client
	ready   chan struct{} // closed when there is the member: it may be given partitions before that
}

// Tell implements Deployment.
func (c *cluster) Tell(ctx context.Context, words []*kgo.Record) error {
	return c.out.ProduceSync(ctx, words...).FirstErr()
}

// Commit implements Deployment.
func (c *cluster) Commit(ctx context.Context, partition int32, offset int64) error {
	<-c.ready
	at := map[string]map[int32]kgo.EpochOffset{c.journal: {partition: {Epoch: -1, Offset: offset}}}
	done := make(chan error, 1)
	c.member.CommitOffsets(ctx, at, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, r *kmsg.OffsetCommitResponse, err error) {
		done <- committed(r, err)
	})
	if err := <-done; err != nil {
		return fmt.Errorf("committing how far the partition is archived: %w", err)
	}
	return nil
}

// committed is what the coordinator says about what was committed.
func committed(r *kmsg.OffsetCommitResponse, err error) error {
	if err != nil {
		return err
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}
