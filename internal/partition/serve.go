package partition

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
)

// lastEffects bounds the wait for effects at a graceful end.
const lastEffects = time.Second

// goodbye bounds the appends and the checkpoint of a graceful end.
const goodbye = 4 * time.Second

// serve runs the loop of the lawful owner until the partition is given up or a
// fault ends the tenure.
func (r *tenure) serve(ctx context.Context) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	r.o.turn()
	r.o.set(Owning, r.proc.Position().Epoch, "")
	r.o.cause.Store(nil)
	r.host.Stats.Recoveries.Add(1)
	r.host.Stats.RecoverNs.Add(uint64(time.Since(r.began)))
	r.o.said = ""
	r.o.logger.Info("the partition is owned", "epoch", r.proc.Position().Epoch, "took", time.Since(r.began).Round(time.Millisecond))
	err := r.loop(ctx)
	switch {
	case ctx.Err() != nil: // lost, or without a store: write nothing (O5)
		return broken(ctx)
	case errors.Is(err, errRevoked):
		return r.leave(ctx)
	case errors.Is(err, errDeposed):
		r.yield(ctx)
	}
	var poison *loop.PoisonedError
	if errors.As(err, &poison) {
		r.host.Stats.Poisoned.Add(1)
		if kafka.IsDataLoss(err) || kafka.IsRemade(err) {
			err = errors.Join(err, r.host.replaceJournal(r.log.journal))
		}
	}
	switch {
	case kafka.IsTooLarge(err):
		return r.tooLarge(ctx, err)
	case isLater(err):
		return r.halt(ctx, err)
	}
	return err
}

// broken is why a tenure ended by itself, or nil if it was ended.
func broken(ctx context.Context) error {
	if why := context.Cause(ctx); !errors.Is(why, context.Canceled) {
		return why
	}
	return nil
}

// start seeks the inputs, releases what is not known to be out, and begins.
func (r *tenure) start(ctx context.Context) error {
	p := r.proc
	if p.Tick(); p.LeaseOver() {
		return loop.ErrExpired
	}
	r.store.Live(true) // the takeover is read back: no older changelog can be ahead
	r.seekInputs()
	if r.host.Flaws.CommittedPositions.On() {
		if err := r.seekCommitted(ctx); err != nil {
			return err
		}
	}
	if err := r.inspectInputs(ctx); err != nil {
		return err
	}
	if err := r.remakeOriginals(ctx); err != nil {
		return err
	}
	if err := p.Rerelease(); err != nil {
		return err
	}
	if err := p.Owed(); err != nil {
		return err
	}
	if err := p.RecallQuarantines(); err != nil {
		return err
	}
	if err := p.RecallInHand(); err != nil {
		return err
	}
	if err := r.guard(); err != nil {
		return err
	}
	p.LookAtTimers()
	next := [loop.Logs]int64{}
	for _, s := range loop.Inputs {
		next[s] = p.Input(s).Next
	}
	r.read.close()
	r.host.router.Start(r.o.p, r.box, r.id, next)
	r.check.begin(r)
	r.learnNames()
	return p.Err()
}

// guard says on the disk that the tenure has begun, and finds out whether the last one
// there ended in order.
func (r *tenure) guard() (err error) {
	var unclean bool
	if r.suspects, unclean, err = findSuspects(r.host.Store(r.o.p)); err != nil {
		return needsRoom(err)
	}
	if unclean && !r.host.Flaws.NoSuspects.On() {
		r.o.logger.Info("the last process on this store was killed or has crashed: what was in flight is decided one at a time")
		r.proc.Beware(r.suspects, r.ends)
	}
	return nil
}

// inOrder says on the disk that the process has outlived the tenure. What was in flight
// before and has not been decided yet may still end it: the next tenure is wary too.
func (r *tenure) inOrder() {
	end := func() error { return r.suspects.end(r.suspects.path) }
	if r.proc.IsWary() {
		end = r.suspects.leave
	}
	if err := end(); err != nil {
		r.o.logger.Warn("the note of decisions in flight stays: the next owner takes this end for a crash, and decides what was in flight one at a time", "error", err)
	}
}

// learnNames reads the names of the workflows beside the loop.
func (r *tenure) learnNames() {
	r.alongside(func() {
		known, err := collectNames(r.log.ctx, r.store)
		if err != nil {
			return // of no use then; the lookups find out by themselves
		}
		r.box.Do(func(p *loop.Processor) { p.LearnNames(known) })
	})
}

// seekInputs places the reading of the inputs where the journal says, or behind
// dropped inputs where the last checkpoint says so and no later record has moved
// the position by its word: on this store, or on any before it.
func (r *tenure) seekInputs() {
	for _, s := range loop.Inputs {
		l := r.proc.Input(s)
		l.Next, l.Generation, l.Last = l.Row.Next, l.Row.Generation, 0
		for _, c := range r.check.cursors {
			if c.Source == s && c.Next >= l.Next && !r.check.at.Before(l.Row.Jumped) {
				l.Next, l.Last = c.Next, c.Last
			}
		}
		l.Durable = l.Reached()
	}
}

// seekCommitted is the flaw CommittedPositions.
func (r *tenure) seekCommitted(ctx context.Context) error {
	committed, err := r.host.adm.FetchOffsets(ctx, r.host.names.PlannerGroup())
	for _, s := range loop.Inputs {
		l := r.proc.Input(s)
		at, _ := committed.Lookup(r.host.router.Topic(s), r.o.p)
		l.Next, l.Last = at.At, 0
		l.Durable = l.Reached()
	}
	return err
}

var (
	errRevoked = errors.New("the partition was revoked")
	errDeposed = errors.New("a newer owner has fenced this one")
)

// loop steps whenever something has arrived or is due.
func (r *tenure) loop(ctx context.Context) error {
	var batch loop.Batch
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-r.box.Wake():
		case <-timer.C:
		case <-r.o.revoke:
			return errRevoked
		case <-ctx.Done():
			return ctx.Err()
		}
		if r.o.revoked.Load() { // whatever else there is
			return errRevoked
		}
		r.box.Take(&batch)
		if err := r.proc.Step(&batch); err != nil {
			return err
		}
		batch.Reset()
		r.check.consider()
		r.o.turn()
		if r.proc.Err() != nil {
			return r.proc.Err()
		}
		timer.Reset(min(r.proc.NextWake(), r.check.wake()))
	}
}

// leave gives the partition up in order: no more inputs, appends finish, the lease
// is released, a checkpoint of everything, the store kept (O5). The checkpoint has
// the release too: nothing is left in the journal that could expire before it is
// read. It commits only as long as no successor has fenced this owner, so that the
// release costs it nothing.
func (r *tenure) leave(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, goodbye)
	defer stop()
	r.host.router.Stop(r.o.p, r.box)
	if err := r.finishAppends(ctx); err != nil {
		return err
	}
	r.settleEffects(ctx)
	if err := r.sayReleased(ctx, "revoked"); err != nil {
		return err
	}
	r.check.finish(ctx)
	r.proc.Write()
	return r.proc.Err()
}

// yield is the end of an owner that was fenced but is alive: its appends
// finish, then it says that the successor need not wait.
func (r *tenure) yield(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, goodbye)
	defer stop()
	r.proc.Pardon()
	r.host.router.Stop(r.o.p, r.box)
	if err := r.finishAppends(ctx); err != nil {
		r.o.logger.Warn("the appends of a deposed owner did not finish", "error", err)
		return
	}
	if err := r.sayReleased(ctx, "fenced"); err != nil {
		r.o.logger.Warn("a deposed owner could not release its lease", "error", err)
	}
}

// finishAppends steps without taking inputs until everything appended is written.
func (r *tenure) finishAppends(ctx context.Context) error {
	r.proc.Close()
	var batch loop.Batch
	for {
		r.box.Take(&batch)
		if err := r.proc.Step(&batch); err != nil {
			return err
		}
		batch.Reset()
		if r.proc.InFlight() == 0 {
			return nil
		}
		select {
		case <-r.box.Wake():
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d appends: %w", r.proc.InFlight(), ctx.Err())
		}
	}
}

// settleEffects gives the effects that are on their way a moment to arrive, so
// that the successor has less to release again. What does not is in the outbox.
func (r *tenure) settleEffects(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, lastEffects)
	defer stop()
	r.host.latest.flushAll()
	var batch loop.Batch
	for r.proc.Outside() > 0 && ctx.Err() == nil {
		select {
		case <-r.box.Wake():
		case <-ctx.Done():
		}
		r.box.Take(&batch)
		if r.proc.Step(&batch) != nil {
			return
		}
		batch.Reset()
	}
}

// sayReleased appends AuthorityReleased and waits for it. From then on no effect
// is released. A lease that has run out needs no word.
func (r *tenure) sayReleased(ctx context.Context, why string) error {
	p := r.proc
	if p.Tick(); p.LeaseOver() {
		return loop.ErrExpired
	}
	p.GiveBack(events.By{Who: r.host.Owner, Why: why})
	return r.finishAppends(ctx)
}
