package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// txnTimeout is how long an open transaction of a claimant that died may
	// hold up readers; the next fence ends it sooner.
	txnTimeout = 10 * time.Second

	// recallWait is what records that have left get to be answered in when
	// nobody waits for their transaction any more.
	recallWait = time.Second

	// txnBackoff is the pause before asking a busy coordinator again.
	txnBackoff = 10 * time.Millisecond
)

// Txn is the right to write checkpoints and takeover records of one planner
// partition: a client of the transactional id PREFIX-planner-p. One goroutine
// uses it. It is not fenced yet when made; Fence first.
type Txn struct {
	config Config
	id     string

	cl        *kgo.Client // nil: not fenced, or deposed
	implicit  bool        // the broker adds offsets to the transaction by itself
	unsettled bool        // how the last transaction ended is not known
	topicIDs  map[string][16]byte
}

// NewTxn makes the Txn of a planner partition without asking the broker.
func NewTxn(c Config, partition int32) (*Txn, error) {
	names, err := c.Names()
	if err != nil {
		return nil, err
	}
	return &Txn{config: c, id: names.PlannerTxn(partition)}, nil
}

// Fence takes the transactional id: InitProducerID ends a transaction that an
// older owner left open, and from here on that owner's commits are refused
// (PRODUCER_FENCED). It tries until the context ends. Fencing again is lawful
// and fences this Txn's own earlier transactions too.
func (t *Txn) Fence(ctx context.Context) error {
	t.Close()
	cl, err := t.config.client("checkpoint", append(produceBase(t.config),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionalID(t.id),
		kgo.TransactionTimeout(txnTimeout),
	)...)
	if err != nil {
		return err
	}
	if err := t.initialize(ctx, cl); err != nil {
		cl.Close()
		return fmt.Errorf("fence %s: %w", t.id, err)
	}
	t.cl = cl
	return nil
}

func (t *Txn) initialize(ctx context.Context, cl *kgo.Client) error {
	for {
		_, _, err := cl.ProducerID(ctx)
		if err == nil {
			break
		}
		if !IsRetriable(err) || pause(ctx, txnBackoff) != nil {
			return err
		}
	}
	features, err := versions(ctx, cl)
	if err != nil {
		return err
	}
	t.implicit = features.ImplicitTxn
	return nil
}

// Fenced reports whether Fence succeeded and nobody is known to have fenced
// this Txn since.
func (t *Txn) Fenced() bool { return t.cl != nil }

// Close gives up the client. It ends no transaction: a later fence, or the
// transaction timeout, does.
func (t *Txn) Close() {
	if t.cl != nil {
		t.cl.Close()
	}
	t.cl, t.unsettled, t.topicIDs = nil, false, nil
}

// Run writes the records and, unless commit is nil, commits the positions, in
// one transaction: all of it or nothing. Each record names its partition.
//
// It takes at most the transaction timeout of 10 s, and ends with ctx. The error is a *TxnError,
// whose Outcome says what to do. After Deposed the Txn is closed; only Fence
// can revive it.
func (t *Txn) Run(ctx context.Context, records []*kgo.Record, commit *Commit) error {
	if t.cl == nil {
		return &TxnError{Outcome: Deposed, Err: fmt.Errorf("transaction %s: not fenced", t.id)}
	}
	ctx, cancel := context.WithTimeout(ctx, txnTimeout)
	defer cancel()
	if err := t.begin(ctx); err != nil {
		return err
	}
	if err := t.produce(ctx, records); err != nil {
		return err
	}
	if commit != nil {
		if err := t.commitPositions(ctx, commit); err != nil {
			return t.abort(ctx, t.fail(NoPositions, "commit positions", err))
		}
	}
	if err := t.cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
		t.unsettled = true
		return t.fail(Unknown, "commit", err)
	}
	return nil
}

// produce writes the records of the open transaction. kgo keeps a record that
// has left until it is answered, whatever the context says: when that does not
// come soon after ctx has ended, the client is given up, and the next fence ends
// the transaction.
func (t *Txn) produce(ctx context.Context, records []*kgo.Record) error {
	all := newAnswers(len(records))
	for _, r := range records {
		t.cl.Produce(ctx, r, all.promise)
	}
	select {
	case <-all.done:
	case <-ctx.Done():
		if !t.recall(ctx) {
			t.Close() // fails what is left
			return t.fail(Deposed, "produce", ctx.Err())
		}
		return t.abort(ctx, t.fail(Failed, "produce", ctx.Err()))
	}
	if err := all.failed.Load(); err != nil {
		return t.abort(ctx, t.fail(Failed, "produce", *err))
	}
	if err := Published(ctx, t.cl); err != nil {
		return t.abort(ctx, t.fail(Failed, "produce", err))
	}
	return nil
}

// Published waits until kgo knows the partitions that were written to, all of
// whose records are answered. At the first produce to a topic it sends the
// waiting records before it publishes the topic's partitions; an EndTransaction
// in between sees no partition that was written to, aborts instead of
// committing, and returns nil (kgo 1.22, storePartitionsUpdate). Both happen
// under one lock, which AbortBufferedRecords takes.
func Published(ctx context.Context, cl *kgo.Client) error {
	return cl.AbortBufferedRecords(ctx)
}

// answers waits for those to a number of records.
type answers struct {
	left   atomic.Int64
	failed atomic.Pointer[error] // the first
	done   chan struct{}         // closed with the last
}

func newAnswers(n int) *answers {
	a := &answers{done: make(chan struct{})}
	a.left.Store(int64(n))
	if n == 0 {
		close(a.done)
	}
	return a
}

func (a *answers) promise(_ *kgo.Record, err error) {
	if err != nil {
		first := err
		a.failed.CompareAndSwap(nil, &first)
	}
	if a.left.Add(-1) == 0 {
		close(a.done)
	}
}

// recall fails the records that have not left, and reports whether the others are
// answered within a moment.
func (t *Txn) recall(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recallWait)
	defer cancel()
	return t.cl.AbortBufferedRecords(ctx) == nil
}

// begin opens a transaction. A producer that no retry makes usable
// (its transaction timed out, the broker forgot it) counts as deposed: fencing
// anew is what helps.
func (t *Txn) begin(ctx context.Context) error {
	err := t.settle(ctx)
	if err == nil {
		err = t.cl.BeginTransaction()
	}
	switch {
	case err == nil:
		return nil
	case IsRetriable(err):
		return t.fail(Failed, "begin", err)
	default:
		t.Close()
		return t.fail(Deposed, "begin", err)
	}
}

// settle ends a transaction whose end is not known: kgo asks for the producer
// id again at the known epoch, which aborts what is still open, and is refused
// when a newer owner has fenced this one.
func (t *Txn) settle(ctx context.Context) error {
	if !t.unsettled {
		return nil
	}
	if err := t.cl.EndTransaction(ctx, kgo.TryAbort); err != nil {
		return err
	}
	t.unsettled = false
	return nil
}

// fail classifies a failure. A deposed owner sends nothing more, not even an
// abort: recovering its producer id could fence the lawful owner in turn (C4).
func (t *Txn) fail(o Outcome, doing string, err error) *TxnError {
	switch {
	case IsFenced(err):
		o = Deposed
		t.Close()
	case IsMembership(err):
		o = NotMember
	case IsTooLarge(err):
		o = TooLarge
	}
	return &TxnError{Outcome: o, Err: fmt.Errorf("transaction %s: %s: %w", t.id, doing, err)}
}

// abort ends the open transaction after a failure, also when the caller's
// context has ended.
func (t *Txn) abort(ctx context.Context, cause *TxnError) error {
	if t.cl == nil {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), txnTimeout)
	defer cancel()
	err := t.cl.AbortBufferedRecords(ctx)
	if err == nil {
		err = t.cl.EndTransaction(ctx, kgo.TryAbort)
	}
	switch {
	case err == nil:
		return cause
	case IsFenced(err):
		return t.fail(Deposed, "abort", errors.Join(err, cause.Err))
	default:
		t.unsettled = true
		cause.Err = errors.Join(cause.Err, fmt.Errorf("abort: %w", err))
		return cause
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
