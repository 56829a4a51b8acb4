package partition

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/partition/defect"
	"github.com/heddle-run/heddle/internal/partition/feed"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/events"
)

// State of an Owner, for people and probes.
const (
	Recovering = "recovering"
	Waiting    = "waiting for the lease"
	Owning     = "owning"
	Blocked    = "blocked"
	Ended      = "ended"
)

// Status is what an Owner is at.
type Status struct {
	Partition int32
	State     string
	Epoch     uint64
	Why       string // blocked: the reason; waiting: for whom
}

// Owner is the claim of this process on one partition, from its assignment to
// its end. It has a tenure, and after a fault another one.
type Owner struct {
	host   *Host
	p      int32
	logger *slog.Logger
	status atomic.Pointer[Status]
	cause  atomic.Pointer[error] // why the last tenure has ended; nil while it owns
	turned atomic.Int64          // ns since the host began, when the loop has turned last

	lost     context.CancelFunc // stop at once
	revoke   chan struct{}      // closed: stop gracefully
	revoked  atomic.Bool
	mooring  atomic.Int32 // moored, adrift or sunk
	panicked string       // where the last tenure met a defect; "": it did not
	done     chan struct{}

	said  string      // the reason that was logged last; empty: it was owned since
	heard acceptances // read while it was blocked
}

// Own starts an owner for an assigned partition.
func (h *Host) Own(ctx context.Context, partition int32) *Owner {
	ctx, lost := context.WithCancel(ctx)
	o := &Owner{
		host: h, p: partition, logger: h.logger.With("partition", partition),
		lost: lost, revoke: make(chan struct{}), done: make(chan struct{}),
	}
	o.set(Recovering, 0, "")
	h.enter(o)
	go o.run(ctx)
	return o
}

// Lose stops the owner at once: it writes nothing more. It returns when the
// owner has ended.
func (o *Owner) Lose() {
	o.lost()
	<-o.done
}

// lastWait bounds the wait for an owner that is dropped.
const lastWait = time.Second

// Drop is Lose for a caller that cannot wait for ever, as a group cannot: an owner whose disk
// hangs ends when that answers. Until then its store cannot be used here.
func (o *Owner) Drop() {
	o.lost()
	patience := time.NewTimer(lastWait)
	defer patience.Stop()
	select {
	case <-o.done:
	case <-patience.C:
		o.logger.Warn("an owner that was stopped has not ended: something that it waits for does not answer")
	}
}

// Ended is closed when the owner has ended.
func (o *Owner) Ended() <-chan struct{} { return o.done }

// Revoke ends the tenure gracefully: inputs stop, appends finish, a checkpoint is
// written and the lease released. When ctx ends first, the owner is dropped.
func (o *Owner) Revoke(ctx context.Context) {
	if o.revoked.CompareAndSwap(false, true) {
		close(o.revoke)
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		o.Drop()
	}
}

// served reports whether the partition is served now: owned, and the loop turns.
func (o *Owner) served(within time.Duration) bool {
	return o.Status().State == Owning && time.Since(o.host.began)-time.Duration(o.turned.Load()) < within
}

func (o *Owner) turn() { o.turned.Store(int64(time.Since(o.host.began))) }

// Status is what the owner is at now.
func (o *Owner) Status() Status { return *o.status.Load() }

func (o *Owner) set(state string, epoch uint64, why string) {
	o.status.Store(&Status{Partition: o.p, State: state, Epoch: epoch, Why: why})
}

// run has one tenure after another until the partition is given up.
func (o *Owner) run(ctx context.Context) {
	defer close(o.done)
	defer o.host.exit(o)
	defer o.lost()
	defer o.set(Ended, 0, "")
	for pause := retryPause; ctx.Err() == nil && !o.revoked.Load() && !o.sink(); {
		began := time.Now()
		err := defect.Caught(o.logger, o.host.Stats, func() error { return o.hold(ctx) })
		if err == nil || ctx.Err() != nil || o.revoked.Load() {
			return
		}
		if o.sink() {
			o.logger.Warn("the tenure of an owner that the group does not know ends", "cause", err)
			return
		}
		if time.Since(began) > 10*time.Second || errors.Is(err, errGivenUp) {
			pause = retryPause
		}
		o.explain(err)
		if isLater(err) { // what this program knows does not change
			select {
			case <-o.revoke:
			case <-ctx.Done():
			}
			return
		}
		wait, stop := context.WithCancel(ctx)
		go func() {
			select {
			case <-o.revoke:
				stop()
			case <-wait.Done():
			}
		}()
		sleep(wait, pause)
		stop()
		pause = min(2*pause, 5*time.Second)
	}
}

func (o *Owner) explain(err error) {
	o.cause.Store(&err)
	if blocked := o.blocking(err); blocked != nil {
		if o.said != blocked.Error() {
			o.said = blocked.Error()
			o.logger.Error("the partition is blocked", "reason", err)
		}
		o.set(Blocked, 0, blocked.Error())
		return
	}
	var wrong *loop.ClockError
	if errors.As(err, &wrong) && wrong.Input {
		o.host.clock.suspected(wrong.Ahead)
	}
	if o.said != err.Error() {
		o.said = err.Error()
		o.logger.Warn("the partition recovers", "cause", err)
	}
	o.set(Recovering, 0, err.Error())
}

// BlockedError keeps a partition from being ready until an operator decides:
// nothing here is repaired silently.
type BlockedError struct{ Reason string }

func (e *BlockedError) Error() string { return e.Reason }

// hold is one tenure: a recovery and what follows it, up to its end. Nil means that the
// partition was given up in order.
func (o *Owner) hold(ctx context.Context) error {
	ctx, broken := context.WithCancelCause(ctx)
	defer broken(nil)
	// Until the partition is claimed there is nothing to end gracefully.
	before, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-o.revoke:
			stop()
		case <-before.Done():
		}
	}()
	r, err := o.recover(ctx, before, broken)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.approach(ctx, before); err != nil {
		r.tell(before, err)
		return err
	}
	return r.serve(ctx)
}

// approach waits until the partition is free and takes it over. What is before that
// ends with before.
func (r *tenure) approach(ctx, before context.Context) error {
	if err := r.compareCursor(before); err != nil {
		return r.orGoOn(before, err)
	}
	until, err := r.publishedUntil(before)
	if err != nil {
		return err
	}
	if err := r.await(before, until); err != nil {
		return err
	}
	return r.claim(ctx)
}

// tenure is the working state of one recovery and the ownership after it.
type tenure struct {
	o       *Owner
	host    *Host
	txn     Txn
	store   *store.Store
	state   *storeState
	proc    *loop.Processor
	box     *feed.Mailbox
	log     *kafkaLog
	end     context.CancelFunc // of what the tenure sends
	read    *reader
	journal *journal.Reader // never closed: what it reads from is the host's
	turn    *turn
	id      feed.Identity
	place   journal.Place // in the journal: what is replayed
	covered int64         // below this offset the journal need have nothing behind what the store has
	broken  func(error)   // ends the tenure: the store is worth nothing
	span    span          // of the journal, as of the recovery
	epochs  []epochRow
	began   time.Time

	reused  bool                       // the store is of before, and proven
	known   int64                      // the journal reached at least so far, by what is recorded elsewhere
	marker  *marker                    // of the newest checkpoint in the changelog; nil: there is none
	word    *events.Command            // an operator's release that ended the wait
	words   [loop.Logs]*events.Command // operators' words that the losses of input logs are accepted
	pending atomic.Int64               // journal records to replay
	lastID  string
	ends    [loop.Logs]int64 // of the inputs, as of the acquisition
	notes   []string         // what an operator should know

	suspects *suspects // the file that says that the tenure has not ended in order

	check  checkpointer
	trim   trimmer
	beside sync.WaitGroup // what runs beside the loop
}

func (r *tenure) close() {
	r.end()
	r.host.latest.forget(r.log)
	r.host.queues.forget(r.log)
	if r.proc != nil {
		r.proc.LeaveParked()
	}
	r.host.router.Stop(r.o.p, r.box)
	r.check.wait()
	r.beside.Wait()
	r.read.close()
	r.txn.Close()
	if r.state != nil {
		r.state.Release()
	}
	if r.store != nil {
		r.host.stores.remove(r.store)
		end := r.store.Close
		if r.host.Killed.Now() {
			end = r.store.Abandon
		} else if r.suspects != nil {
			r.inOrder()
		}
		if err := end(); err != nil {
			r.o.logger.Error("closing the store", "error", err)
		}
	}
}

func (o *Owner) String() string { return fmt.Sprintf("partition %d", o.p) }
