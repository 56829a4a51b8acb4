package sim

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
)

// leashed is the cluster as a process uses it whose effects are held against its
// leases: none is sent when by its own clock the lease has not its margin left
// (E5).
type leashed struct{ clients }

// Effects implements partition.Cluster.
func (l leashed) Effects() (partition.Producer, error) {
	of, err := l.clients.Effects()
	return &leash{of, l.n, l.n.w.settings().Complete().Margin}, err
}

// Summaries implements partition.Cluster. A summary may wait a part of the margin
// for a newer one.
func (l leashed) Summaries() (partition.Producer, error) {
	of, err := l.clients.Summaries()
	return &leash{of, l.n, l.n.w.settings().Complete().Margin / 2}, err
}

// leash looks at what a producer of a process sends.
type leash struct {
	partition.Producer
	n      *node
	margin time.Duration // that has to be left of the lease
}

// Produce implements partition.Producer.
func (l *leash) Produce(ctx context.Context, rec *kgo.Record, done func(*kgo.Record, error)) {
	if !strings.HasPrefix(string(rec.Key), partition.ProbeKey) && !l.n.isDead() {
		l.check(ctx, rec)
		became, given := l.checkRepeat(ctx, rec), done
		done = func(rec *kgo.Record, err error) {
			became(err)
			given(rec, err)
		}
		l.n.w.noteCancel(rec)
	}
	l.Producer.Produce(ctx, rec, done)
}

func (l *leash) check(ctx context.Context, rec *kgo.Record) {
	held := lease{who(ctx), l.n.owner}
	w, now := l.n.w, l.n.clock().Add(l.margin).UnixMilli()
	w.mu.Lock()
	until := w.leases[held]
	w.mu.Unlock()
	if now >= until {
		w.failAbout(w.workflow(string(rec.Key)), "%s sends an effect of %s to %s, %d ms behind what the margin of its lease allows (E5)", l.n.name, held.partition, rec.Topic, now-until)
	}
}

// lease is that of a partition and an owner.
type lease struct{ partition, owner string }

// noteLease notes until when (Unix ms) an owner may hold a partition by a record
// of its own: an acquisition, or a renewal, of which it may not know yet.
func (w *world) noteLease(rec *kgo.Record, p int32) {
	switch rec.Topic {
	case w.c.names.Journal():
		if r, err := journal.Decode(rec); err == nil {
			for _, e := range r.Events {
				if a, ok := e.(*events.AuthorityAcquired); ok {
					w.leaseOf(p, a.Owner, a.LeasedUntil)
				}
			}
		}
	case w.c.names.Authority():
		var published runtime.Record
		if json.Unmarshal(rec.Value, &published) == nil {
			if l, err := runtime.FromPublished(published.Authority); err == nil {
				w.leaseOf(p, l.Owner, l.LeasedUntil)
			}
		}
	}
}

func (w *world) leaseOf(p int32, owner string, until int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := lease{partitionName(p), owner}
	w.leases[held] = max(w.leases[held], until)
}
