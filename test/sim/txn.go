package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// txn is a partition.Txn over the model: what kafka.Txn promises of a real one.
type txn struct {
	n         *node
	id        string
	s         *session // nil: not fenced, or deposed
	unsettled bool
}

// Fence implements partition.Txn.
func (t *txn) Fence(ctx context.Context) error {
	t.Close()
	return t.ask(ctx, "fence", func() (err error) { t.s, err = t.n.c.brokers.initialize(t.id); return err })
}

// Close implements partition.Txn.
func (t *txn) Close() { t.s, t.unsettled = nil, false }

func (t *txn) ask(ctx context.Context, what string, exec func() error) error {
	ready := func() bool { return t.n.c.brokers.quiet(t.id) } // CONCURRENT_TRANSACTIONS, asked again
	return t.n.ask(ctx, t.id, txnStep, ready, exec, what)
}

// Run implements partition.Txn.
func (t *txn) Run(ctx context.Context, records []*kgo.Record, commit *kafka.Commit) error {
	if t.s == nil {
		return t.fail(kafka.Deposed, "run", errors.New("not fenced"))
	}
	ctx, cancel := context.WithTimeout(ctx, txnTimeout)
	defer cancel()
	s := t.s
	if t.unsettled {
		if err := t.ask(ctx, "settle", func() error { return t.n.c.brokers.settle(s) }); err != nil {
			return t.fail(kafka.Failed, "settle", err)
		}
		t.unsettled = false
	}
	if commit == nil && len(records) == 1 && records[0].Topic == t.n.c.names.Journal() {
		if err := t.n.takeover(records[0].Partition); err != nil {
			return t.fail(kafka.Failed, "produce", err)
		}
	}
	if err := t.crawl(ctx, records); err != nil {
		return t.abort(ctx, t.fail(kafka.Failed, "produce", err))
	}
	if err := t.produce(ctx, records); err != nil {
		return t.abort(ctx, t.fail(kafka.Failed, "produce", err))
	}
	if commit != nil {
		if err := t.commit(ctx, commit); err != nil {
			return t.abort(ctx, t.fail(kafka.NoPositions, "commit positions", err))
		}
	}
	if err := t.ask(ctx, "commit", func() error {
		err := t.n.c.finish(s, true)
		if err == nil {
			t.n.w.cursors.wrote(t.n, records, commit)
			t.n.c.absence.renewed(t.n.c.names.Authority(), records)
		}
		return err
	}); err != nil {
		t.unsettled = true
		return t.fail(kafka.Unknown, "commit", err)
	}
	return nil
}

// commit asks the group's coordinator to take positions. While it is away, nobody answers.
func (t *txn) commit(ctx context.Context, commit *kafka.Commit) error {
	ctx, stop := context.WithTimeout(ctx, commit.Patience())
	defer stop()
	c, s := t.n.c, t.s
	there := func() bool { return ctx.Err() != nil || !c.absence.away() && c.brokers.quiet(t.id) }
	stage := func() error {
		if c.absence.away() {
			return kerr.CoordinatorNotAvailable
		}
		return c.brokers.stage(s, commit, c.member)
	}
	return t.n.ask(ctx, t.id, txnStep, there, stage, "positions")
}

// crawl takes the time that the records of a checkpoint take on a slow way to the
// brokers. What cannot be split takes no more than a part of the lease.
func (t *txn) crawl(ctx context.Context, records []*kgo.Record) error {
	plan := t.n.w.plan
	if plan.Rate == 0 {
		return nil
	}
	bytes := 0
	for _, rec := range records {
		if rec.Topic == t.n.c.names.State() {
			bytes += size(rec)
		}
	}
	d := time.Duration(bytes) * time.Second / time.Duration(plan.Rate)
	return workload.Pause(ctx, min(d, plan.Settings.Lease/4))
}

// produce writes the records, those of one topic at a time.
func (t *txn) produce(ctx context.Context, records []*kgo.Record) error {
	s := t.s
	for len(records) > 0 {
		n := 1
		for n < len(records) && records[n].Topic == records[0].Topic {
			n++
		}
		some := make([]*kgo.Record, n) // as they leave: their bytes are the caller's again when it gives up
		for i, rec := range records[:n] {
			c := *rec
			c.Key, c.Value = bytes.Clone(rec.Key), bytes.Clone(rec.Value)
			some[i] = &c
		}
		err := t.ask(ctx, "produce "+some[0].Topic, func() error {
			return t.n.c.produce(s, some)
		})
		if err != nil {
			return err
		}
		for i, rec := range some {
			records[i].Partition, records[i].Offset = rec.Partition, rec.Offset
		}
		records = records[n:]
	}
	return nil
}

func (t *txn) fail(o kafka.Outcome, doing string, err error) *kafka.TxnError {
	switch {
	case kafka.IsFenced(err):
		o = kafka.Deposed
		t.Close()
	case kafka.IsMembership(err):
		o = kafka.NotMember
	case kafka.IsTooLarge(err):
		o = kafka.TooLarge
	}
	return &kafka.TxnError{Outcome: o, Err: fmt.Errorf("transaction %s: %s: %w", t.id, doing, err)}
}

// abort ends the open transaction, also when the caller's context has ended.
func (t *txn) abort(ctx context.Context, cause *kafka.TxnError) error {
	if t.s == nil {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), txnTimeout)
	defer cancel()
	s := t.s
	err := t.ask(ctx, "abort", func() error { return t.n.c.finish(s, false) })
	switch {
	case err == nil:
		return cause
	case kafka.IsFenced(err):
		return t.fail(kafka.Deposed, "abort", err)
	default:
		t.unsettled = true
		return cause
	}
}
