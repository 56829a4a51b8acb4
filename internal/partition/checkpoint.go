package partition

import (
	"context"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/journal"
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
	r       *reign
	running sync.WaitGroup
	busy    bool
	all     bool // everything is due: the graceful end, or what a restart does not know

	last      time.Time // begin of the last one
	flushed   time.Time
	took      time.Duration   // of the last one
	notBefore time.Time       // after a failure
	cursors   []cursorRow     // as last committed
	at        events.Position // the last record of the last one
	covered   int64           // nothing of the journal below counts that is behind at; 0: it is not known
	full      time.Time       // of the last one of everything
	room      recordRoom      // for the next one
	stop      context.CancelFunc
	ctx       context.Context
	result    error
}

// begin starts a reign's checkpoints. After a recovery all that is dirty is due:
// which workflows asked for it before is not known.
func (c *checkpointer) begin(r *reign) {
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
	every := max(s.CheckpointInterval, time.Duration(float64(c.took)/s.CheckpointShare))
	return min(every, s.Lease/3)
}

// dueIn is how long until the next checkpoint may begin.
func (c *checkpointer) dueIn() time.Duration {
	p := c.r.proc
	now := p.clock.at
	if wait := c.notBefore.Sub(now); wait > 0 {
		return wait
	}
	if p.wanted || c.last.IsZero() {
		return 0
	}
	every := c.r.host.Settings.Lease / 3
	if c.changed() {
		every = c.interval()
	}
	return max(0, c.last.Add(every).Sub(now))
}

// changed says whether there is anything new to write.
func (c *checkpointer) changed() bool {
	if c.r.proc.landed.Position != c.at {
		return true
	}
	for _, cur := range c.cursors {
		if c.r.proc.inputs[cur.Source].durable.next != cur.Next {
			return true
		}
	}
	return len(c.cursors) == 0
}

// wake is when the loop should consider the next checkpoint.
func (c *checkpointer) wake() time.Duration {
	if c.busy {
		return time.Second
	}
	return c.dueIn()
}

// consider begins a checkpoint when one is due, and checks the lease (O5). With a
// wrong clock no lease is renewed (J2).
func (c *checkpointer) consider() {
	c.r.proc.checkLease()
	if c.busy || c.r.proc.fault != nil || c.dueIn() > 0 {
		return
	}
	if wrong := c.r.host.clock.wrong.Load(); wrong != nil {
		c.r.proc.wrongClock(wrong)
		return
	}
	job := c.prepare()
	if job == nil {
		return
	}
	c.busy = true
	c.running.Go(func() {
		err := job.write(c.ctx)
		c.r.box.do(func(p *Processor) { c.finished(p, job, err) })
	})
}

// prepare takes the snapshot of what is due as of now (C1).
func (c *checkpointer) prepare() *job {
	p := c.r.proc
	p.write()
	if p.over() {
		p.fail(errExpired)
	}
	if p.fault != nil {
		return nil
	}
	c.last = p.clock.at
	j := &job{r: c.r, began: p.clock.at, since: map[string]journal.Mark{}, epochs: c.r.epochs}
	j.lease = p.lease
	if j.lease.Held() {
		j.lease.LeasedUntil = p.renewal()
		j.lease.Stale, j.lease.StaleReason = false, ""
	}
	c.all = c.all || p.wanted || p.clock.at.Sub(c.full) >= c.r.host.Settings.FullCheckpoint
	due := p.takeDue()
	lag := c.lagging(p)
	j.snap = c.r.store.Due(func(workflow string, d store.Dirty) bool {
		_, asked := due[workflow]
		if c.all || asked || lag(d.Since) {
			j.since[workflow] = d.Since
			return true
		}
		return false
	})
	j.due, j.all = due, c.all
	if j.snap.Applied.Position == c.at {
		j.covered = c.covered
	}
	j.room, c.room = c.room, recordRoom{}
	for _, s := range inputs {
		d := p.inputs[s].durable
		j.cursors = append(j.cursors, cursorRow{s, d.next, d.last})
	}
	j.record = c.r.published(j.lease)
	return j
}

// lagging says of a dirty workflow whether replay would have to begin too far
// back for it, whatever its strategy (C1).
func (c *checkpointer) lagging(p *Processor) func(journal.Mark) bool {
	limit := int64(c.r.host.Settings.LagRecords)
	return func(since journal.Mark) bool { return p.stored.Offset-since.Offset >= limit }
}

// takeDue are the workflows that their strategies made due.
func (p *Processor) takeDue() map[string]struct{} {
	due := p.due
	p.due, p.wanted = map[string]struct{}{}, false
	return due
}

// finished takes the outcome of a checkpoint in the owner's goroutine.
func (c *checkpointer) finished(p *Processor, j *job, err error) {
	c.busy, c.result = false, err
	if done := j.snap.Done(err == nil || p.Flaws.ForgetDirty); done != nil {
		p.fail(done)
		return
	}
	if err != nil {
		c.failed(p, j, err)
		return
	}
	j.room.reset() // all are answered; after a failure the client may still have some
	c.room = j.room
	c.took = time.Since(j.began)
	idle := c.at == j.snap.Applied.Position
	c.cursors, c.at, c.covered = j.cursors, j.snap.Applied.Position, j.covered
	if idle && (c.covered == 0 || j.all) {
		c.askCovered()
	}
	if j.all {
		c.all, c.full = false, j.began
	}
	st := p.Stats
	st.Checkpoints.Add(1)
	st.CheckBytes.Add(uint64(j.bytes))
	st.CheckNanos.Add(uint64(c.took))
	c.remember(p, j)
	c.r.host.clock.refresh() // the next checkpoint heeds what is found
	p.renewed(Renewed{Until: j.lease.LeasedUntil})
}

// askCovered finds out how far the journal of an idle partition is covered, for
// the next checkpoint: when all that it has expires, nothing is missing then.
func (c *checkpointer) askCovered() {
	at, r := c.at, c.r
	r.beside.Go(func() {
		ctx, stop := context.WithTimeout(r.log.ctx, askTimeout)
		defer stop()
		end, err := r.read.end(ctx, r.host.names.Journal(), r.o.p)
		if err != nil {
			if r.log.ctx.Err() == nil {
				r.o.logger.Warn("a later checkpoint asks again", "error", err)
			}
			return
		}
		r.box.do(func(p *Processor) { c.learnCovered(p, at, end) })
	})
}

// learnCovered takes an end that the journal had after the last record of the last
// checkpoint was written. If the owner has appended nothing since, nobody has: who
// takes over has fenced this owner before, and no later checkpoint commits (O1).
func (c *checkpointer) learnCovered(p *Processor, at events.Position, end int64) {
	if c.at == at && at == (events.Position{Epoch: p.epoch, Seq: p.seq}) {
		c.covered = end
	}
}

// failed keeps what was due, and tells what the failure means (C4).
func (c *checkpointer) failed(p *Processor, j *job, err error) {
	for w := range j.due {
		p.due[w] = struct{}{}
	}
	c.notBefore = time.Now().Add(retryPause)
	if deposed(err) {
		p.fail(errDeposed)
		return
	}
	if c.ctx.Err() == nil {
		c.r.o.logger.Warn("a checkpoint failed", "error", err)
	}
}

// remember notes the checkpoint in the store, for the next process on it.
func (c *checkpointer) remember(p *Processor, j *job) {
	m := c.r.store.Marks()
	m.Extra = encodeMarker(j.marker(j.snap.ReplayFrom))
	p.fail(c.r.store.SetMarks(m))
	if now := time.Now(); now.Sub(c.flushed) >= flushEvery {
		c.flushed = now
		p.fail(c.r.store.Flush())
	}
}

// finish writes a last checkpoint of everything, in the owner's goroutine.
func (c *checkpointer) finish(ctx context.Context) {
	c.running.Wait()
	var batch Batch
	c.r.box.take(&batch)
	if err := c.r.proc.Step(&batch); err != nil {
		return
	}
	c.all = true
	j := c.prepare()
	if j == nil {
		return
	}
	err := j.write(ctx)
	c.finished(c.r.proc, j, err)
	if err != nil {
		c.r.o.logger.Warn("the last checkpoint failed; the journal has everything", "error", err)
	}
}

// checkpointNow asks for a checkpoint of everything as soon as one can be written.
func (p *Processor) checkpointNow() { p.wanted = true }
