package partition

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/defect"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/events"
)

// flushEvery is how often the store is made durable in the background, so that
// a killed process has little to replay.
const flushEvery = 10 * time.Second

// checkpointer decides when the next checkpoint is due and writes it beside the
// owner's loop. Its fields are the owner's; the goroutine that writes has a job
// of its own.
type checkpointer struct {
	r       *tenure
	running sync.WaitGroup
	busy    bool
	all     bool // everything is due: the graceful end, or what a restart does not know

	last      time.Time // begin of the last one
	flushed   time.Time
	lasted    time.Duration   // the last one
	bareUntil time.Time       // checkpoints go without committed positions (C4)
	redos     redoLogs        // as far as parts are known to be written
	notBefore time.Time       // after a failure
	cursors   []cursorRow     // as last committed
	at        events.Position // the last record of the last one
	covered   int64           // nothing of the journal below counts that is behind at; 0: it is not known
	said      []byte          // the marker as a part of this tenure has committed it
	told      int64           // of the journal, as the planners' group has it: where its cursor is; nowhere: it has none, or that is not known
	floor     journal.Mark    // replay-from as a part has committed it: no later one goes back behind it
	full      time.Time       // of the last one of everything
	room      recordRoom      // for the next one
	stop      context.CancelFunc
	ctx       context.Context
	result    error
}

// begin starts a tenure's checkpoints. After a recovery all that is dirty is due:
// which workflows asked for it before is not known.
func (c *checkpointer) begin(r *tenure) {
	c.r, c.all = r, true
	c.ctx, c.stop = context.WithCancel(r.log.ctx)
	c.flushed = time.Now()
}

func (c *checkpointer) wait() {
	if c.stop != nil {
		c.stop()
	}
	c.running.Wait()
}

// interval is the time between two checkpoints: it stretches so that they take
// a bounded share of the time, but never beyond what the lease allows.
func (c *checkpointer) interval() time.Duration {
	s := &c.r.host.Settings
	every := max(s.CheckpointInterval, time.Duration(float64(c.lasted)/s.CheckpointShare))
	return min(every, s.Lease/3)
}

// dueIn is how long until the next checkpoint may begin.
func (c *checkpointer) dueIn() time.Duration {
	p := c.r.proc
	now := p.Now()
	if wait := c.notBefore.Sub(now); wait > 0 {
		return wait
	}
	if p.WantsAll() || c.last.IsZero() {
		return 0
	}
	every := c.r.host.Settings.Lease / 3
	if c.changed() {
		every = c.interval()
	}
	return max(0, c.last.Add(every).Sub(now))
}

// changed reports whether there is anything new to write.
func (c *checkpointer) changed() bool {
	if c.r.proc.Landed().Position != c.at {
		return true
	}
	for _, cur := range c.cursors {
		if c.r.proc.Input(cur.Source).Durable.Next != cur.Next {
			return true
		}
	}
	return len(c.cursors) == 0
}

// wake is when the loop should consider the next checkpoint.
func (c *checkpointer) wake() time.Duration {
	if c.busy || c.r.proc.Stalled() {
		return time.Second
	}
	return c.dueIn()
}

// consider begins a checkpoint when one is due, and checks the lease (O5). With a
// wrong clock no lease is renewed, nor with an append that hangs (O5).
func (c *checkpointer) consider() {
	c.r.proc.CheckLease()
	if c.busy || c.r.proc.Err() != nil || c.dueIn() > 0 || c.r.proc.Stalled() {
		return
	}
	if wrong := c.r.host.clock.wrong.Load(); wrong != nil {
		c.r.proc.WrongClock(wrong)
		return
	}
	if job := c.prepare(); job != nil {
		c.busy = true
		c.advance(job)
	}
}

// advance writes the next part of a checkpoint beside the loop.
func (c *checkpointer) advance(j *job) {
	if !c.renew(j) {
		c.end(j)
		return
	}
	c.running.Go(func() {
		err := defect.Caught(c.r.o.logger, c.r.host.Stats, func() error { return j.step(c.ctx) })
		c.r.box.Do(func(p *loop.Processor) { c.took(p, j, err) })
	})
}

// renew places the next part, which renews the lease as of now. An owner that may
// not decide writes nothing more.
func (c *checkpointer) renew(j *job) bool {
	p := c.r.proc
	if p.LeaseOver() {
		p.Fail(loop.ErrExpired)
	}
	if wrong := c.r.host.clock.wrong.Load(); wrong != nil && p.Lease().Held() {
		p.WrongClock(wrong)
	}
	if p.Err() != nil || p.Stalled() {
		return false
	}
	j.until = c.patience()
	if c.r.host.Flaws.LateRenewal.On() && j.lease.Held() {
		j.redos = c.redos
		return true
	}
	j.lease = p.Lease()
	if j.lease.Held() {
		j.lease = p.Renewed()
	}
	if j.redos, j.floor, j.told = c.redos, c.floor, c.told; j.record.SchemaVersion == 0 {
		j.record = c.r.published(j.lease)
	}
	j.record.Authority = j.lease.Published()
	return true
}

// patience is until when a part that begins now may wait for its positions: then
// there is still time to write it again without them (C4). Zero: as long as it likes.
func (c *checkpointer) patience() time.Time {
	p := c.r.proc
	s := &c.r.host.Settings
	if !p.Lease().Held() || p.Flaws.AlwaysPositions.On() {
		return time.Time{}
	}
	left := p.LeaseLeft()
	return time.Now().Add(left - s.Margin - s.Lease/4 - retryPause)
}

// took takes the outcome of a part in the owner's goroutine.
func (c *checkpointer) took(p *loop.Processor, j *job, err error) {
	if c.wrote(p, j, err) && !j.ended() {
		if !p.Closing() { // a last checkpoint follows, of everything
			c.advance(j)
			return
		}
	}
	c.end(j)
}

// wrote notes what became of a part, and reports whether it is known to be written.
func (c *checkpointer) wrote(p *loop.Processor, j *job, err error) bool {
	c.result = err
	if err != nil {
		c.said = nil // it may be committed all the same
		c.failed(p, j, err)
		return false
	}
	c.redos = j.redos.written(j.withMarker)
	j.room.reset() // all are answered; after a failure the client may still have some
	if c.r.host.Flaws.LateRenewal.On() && !j.ended() {
		return true
	}
	p.Fail(j.snap.Wrote(j.owners))
	if j.withMarker {
		c.floor, c.said = j.marker.ReplayFrom, j.said
		if !j.marker.Bare {
			c.told = j.marker.needs()
		}
		c.remember(p, j)
	}
	c.r.host.clock.refresh() // the next part heeds what is found
	p.Renew(loop.Renewed{Until: j.lease.LeasedUntil, Stale: j.lease.Stale})
	if j.ended() {
		c.finished(p, j)
	}
	return true
}

// end ends a checkpoint: what is not known to be written stays dirty, and what was
// due stays due unless all of it is written.
func (c *checkpointer) end(j *job) {
	c.busy = false
	c.redos = j.abandoned(c.redos)
	p := c.r.proc
	if !j.finished {
		p.PutBack(j.due)
	}
	if p.Flaws.ForgetDirty.On() {
		p.Fail(j.snap.Wrote(j.snap.Owners()))
	}
	p.Fail(j.snap.Done())
}

// prepare takes the snapshot of what is due as of now.
func (c *checkpointer) prepare() *job {
	p := c.r.proc
	p.Write()
	if p.LeaseOver() {
		p.Fail(loop.ErrExpired)
	}
	if p.Err() != nil {
		return nil
	}
	c.last = p.Now()
	j := &job{r: c.r, began: time.Now()}
	c.all = c.all || p.WantsAll() || p.Now().Sub(c.full) >= c.r.host.Settings.FullCheckpoint
	due := p.TakeDue()
	heavy := c.heavy(p)
	j.snap = c.r.store.Due(func(workflow string, d store.Dirty) bool {
		_, asked := due[workflow]
		return c.all || asked || heavy(d)
	})
	if j.due, j.all = due, c.all; !j.all { // now and then all is said, so that no broker forgets the positions
		j.said = c.said
	}
	j.marker = marker{
		Applied: j.snap.Applied, Topic: c.r.id.Journal, Epochs: c.r.epochs, Bare: p.Now().Before(c.bareUntil),
	}
	if j.snap.Applied.Position == c.at {
		j.marker.Covered = c.covered
	}
	for _, s := range loop.Inputs {
		d := p.Input(s).Durable
		j.marker.Cursors = append(j.marker.Cursors, cursorRow{s, d.Next, d.Last})
	}
	j.room, c.room = c.room, recordRoom{}
	return j
}

// heavy says of a dirty workflow whether it is due whatever its strategy: replay
// would have to begin too far back for it, or it has changed much.
func (c *checkpointer) heavy(p *loop.Processor) func(store.Dirty) bool {
	s := &c.r.host.Settings
	return func(d store.Dirty) bool {
		return p.Written().Offset-d.Since.Offset >= int64(s.LagRecords) || d.Bytes >= s.CheckpointBytes/4
	}
}

// finished takes a checkpoint all of whose parts are written.
func (c *checkpointer) finished(p *loop.Processor, j *job) {
	c.room, j.finished = j.room, true
	c.lasted = time.Since(j.began)
	idle := c.at == j.snap.Applied.Position
	c.cursors, c.at, c.covered = j.marker.Cursors, j.snap.Applied.Position, j.marker.Covered
	if idle && (c.covered == 0 || j.all) {
		c.askCovered()
	}
	if j.all {
		c.all, c.full = false, c.last
	}
	st := p.Stats
	st.Checkpoints.Add(1)
	st.CheckBytes.Add(uint64(j.bytes))
	st.CheckNanos.Add(uint64(c.lasted))
	c.r.host.stores.checkpointed(c.r.store, p.Landed().Offset, j.marker.ReplayFrom.Offset)
	c.r.trim.consider(c.r)
}

// askCovered finds out how far the journal of an idle partition is covered, for
// the next checkpoint: when all that it has expires, nothing is missing then.
func (c *checkpointer) askCovered() {
	at, r := c.at, c.r
	r.alongside(func() {
		ctx, stop := context.WithTimeout(r.log.ctx, askTimeout)
		defer stop()
		end, err := r.read.end(ctx, r.host.names.Journal(), r.o.p)
		if err != nil {
			if r.log.ctx.Err() == nil {
				r.o.logger.Warn("a later checkpoint asks again", "error", err)
			}
			return
		}
		r.box.Do(func(p *loop.Processor) { c.learnCovered(p.Position(), at, end) })
	})
}

// learnCovered takes an end that the journal had after the last record of the last
// checkpoint was written. If the owner has appended nothing since, nobody has: an owner that
// takes over has fenced this owner before, and no later checkpoint commits.
func (c *checkpointer) learnCovered(newest, at events.Position, end int64) {
	if c.at == at && at == newest {
		c.covered = end
	}
}

// failed tells what the failure means (C4).
func (c *checkpointer) failed(p *loop.Processor, j *job, err error) {
	c.notBefore = p.Now().Add(retryPause)
	switch outcome(err) {
	case kafka.Deposed:
		p.Fail(errDeposed)
		return
	case kafka.NotMember, kafka.NoPositions:
		if !p.Flaws.AlwaysPositions.On() {
			c.bareUntil = p.Now().Add(c.r.host.Settings.Lease)
		}
	case kafka.TooLarge, kafka.Failed, kafka.Unknown: // what it means is in the error
	}
	if kafka.IsTooLarge(err) { // the next tenure's client splits its batches smaller
		p.Fail(err)
		return
	}
	if defect, ok := errors.AsType[*defect.Error](err); ok {
		p.Fail(defect)
		return
	}
	if c.ctx.Err() == nil {
		c.r.o.logger.Warn("a checkpoint failed", "error", err)
	}
}

// remember notes the checkpoint in the store, for the next process on it.
func (c *checkpointer) remember(p *loop.Processor, j *job) {
	m := c.r.store.Metadata()
	m.Extra = encodeMarker(&j.marker)
	p.Fail(c.r.store.SetMetadata(m))
	if now := time.Now(); now.Sub(c.flushed) >= flushEvery {
		c.flushed = now
		p.Fail(c.r.store.Flush())
	}
}

// finish writes a last checkpoint of everything, in the owner's goroutine. A part that
// is on its way when ctx ends is given up.
func (c *checkpointer) finish(ctx context.Context) {
	inTime := context.AfterFunc(ctx, c.stop)
	defer inTime()
	c.running.Wait()
	var batch loop.Batch
	c.r.box.Take(&batch) // a part of one may have ended
	if err := c.r.proc.Step(&batch); err != nil {
		return
	}
	c.all = true
	j := c.prepare()
	if j == nil {
		return
	}
	written := true
	for written && c.renew(j) {
		written = c.wrote(c.r.proc, j, j.step(ctx))
		if written && j.ended() {
			break
		}
	}
	c.end(j)
	if !written {
		c.r.o.logger.Warn("the last checkpoint failed; the journal has everything", "error", c.result)
	}
}
