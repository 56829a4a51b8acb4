package partition

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
)

// trimmer deletes what nobody needs any more of a partition's commands, inbox and
// journal. Only the owner does, which knows what that is: a retention by time would
// delete what was never read. What it deletes is below a checkpoint that is known
// to be committed, and so below what any later owner reads, whichever owner is late.
//
// Its fields are the owner's; what asks the cluster runs beside the loop.
type trimmer struct {
	busy bool
	next time.Time
	held string // why the journal keeps what is old enough to be deleted; empty: it does not
}

// trim is what may be deleted of one log: what is below an offset and stamped
// before a time. The record before the place where reading goes on stays: it
// proves the place (isLast), and a log that is never empty keeps its end when
// the embedded broker is killed.
type trim struct {
	topic  string
	source events.Source // 0: the journal
	below  int64
	before time.Time
}

// consider looks for what may be deleted, now and then, behind a checkpoint.
func (t *trimmer) consider(r *tenure) {
	now := r.proc.Now()
	if t.busy || now.Before(t.next) || !r.proc.Leased() {
		return
	}
	t.busy, t.next = true, now.Add(r.host.Settings.TrimEvery)
	wanted := r.trims(now)
	t.beside(r, func(ctx context.Context) { t.find(ctx, r, wanted) })
}

// trims are what the last checkpoint allows, which is committed.
func (r *tenure) trims(now time.Time) []trim {
	s := &r.host.Settings
	all := []trim{{r.host.names.Journal(), 0, r.check.floor.Offset, now.Add(-s.History)}}
	for _, c := range r.check.cursors {
		all = append(all, trim{r.host.router.Topic(c.Source), c.Source, c.Next - 1, now.Add(-2 * s.Window)})
	}
	for i := range all {
		if r.host.Flaws.YoungTrims.On() {
			all[i].before = now
		}
		switch s := all[i].source; {
		case !r.host.Flaws.HastyTrims.On():
		case s == 0:
			all[i].below = r.proc.Landed().Offset
		default:
			all[i].below = r.proc.Input(s).Next
		}
	}
	return all
}

// beside asks the cluster something, as long as the tenure may send.
func (t *trimmer) beside(r *tenure, f func(ctx context.Context)) {
	r.alongside(func() {
		ctx, stop := context.WithTimeout(r.log.ctx, min(askTimeout, r.host.Settings.Margin))
		defer stop()
		f(ctx)
	})
}

// notes says what keeps the journal from being trimmed.
func (t *trimmer) notes() []string {
	if t.held == "" {
		return nil
	}
	return []string{t.held}
}

// find lowers each place to the first record that is not old enough, and keeps
// those where the log has anything below.
func (t *trimmer) find(ctx context.Context, r *tenure, wanted []trim) {
	var found []trim
	held, failed := r.archived(ctx, wanted)
	for _, w := range wanted {
		start, err := ask(ctx, r.host.adm.ListStartOffsets, w.topic, r.o.p)
		if err == nil && w.below > start {
			var young int64
			young, err = ask(ctx, func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
				return r.host.adm.ListOffsetsAfterMilli(ctx, w.before.UnixMilli(), topics...)
			}, w.topic, r.o.p)
			if w.below = min(w.below, young); err == nil && w.below > start {
				found = append(found, w)
			}
		}
		if err != nil {
			failed = fmt.Errorf("looking for what may be deleted of %s/%d: %w", w.topic, r.o.p, err)
		}
	}
	r.box.Do(func(p *loop.Processor) {
		t.held = held
		t.cut(r, found, failed)
	})
}

// archived lowers what is wanted of the journal to what the archiver has, where there is one: a run that is trimmed before
// it is kept elsewhere would be lost. held says that it keeps back what would be deleted else.
func (r *tenure) archived(ctx context.Context, wanted []trim) (held string, err error) {
	if !r.host.Settings.Archive {
		return "", nil
	}
	group, journal := r.host.names.ArchiverGroup(), &wanted[0]
	committed, err := r.host.adm.FetchOffsets(ctx, group)
	at, ok := committed.Lookup(journal.topic, r.o.p)
	old := journal.below
	journal.below = 0 // as long as nothing else is known
	switch {
	case errors.Is(err, kerr.GroupIDNotFound): // nobody has ever been one
	case err == nil && ok && at.Err == nil:
		journal.below = max(0, min(old, at.At))
	case err == nil && ok:
		err = at.Err
	}
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return r.trim.held, fmt.Errorf("asking what %s has: %w", group, err)
	}
	young, err := ask(ctx, func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
		return r.host.adm.ListOffsetsAfterMilli(ctx, journal.before.UnixMilli(), topics...)
	}, journal.topic, r.o.p)
	if err != nil || min(old, young) <= journal.below {
		return "", err
	}
	return fmt.Sprintf("the archiver (group %s) has %s up to offset %d only: %d records that are old enough to be deleted are kept until it has them",
		group, journal.topic, journal.below, min(old, young)-journal.below), nil
}

// cut deletes what was found, in the owner's goroutine, if the lease still has its
// margin: the request ends before another one can own. A log that was sought back
// meanwhile is left alone.
func (t *trimmer) cut(r *tenure, found []trim, failed error) {
	at := kadm.Offsets{}
	for _, w := range found {
		if w.source != 0 {
			l := r.proc.Input(w.source)
			if l.Next < w.below {
				continue
			}
			l.Start = w.below
		}
		at.Add(kadm.Offset{Topic: w.topic, Partition: r.o.p, At: w.below})
	}
	if len(at) == 0 || !r.proc.Leased() {
		t.end(r, failed)
		return
	}
	t.beside(r, func(ctx context.Context) {
		err := deleted(r.host.adm.DeleteRecords(ctx, at))
		r.box.Do(func(*loop.Processor) {
			if o, ok := at.Lookup(r.host.names.Journal(), r.o.p); ok && err == nil {
				r.epochs = since(r.epochs, o.At)
				r.host.stores.trimmed(r.store, o.At)
			}
			t.end(r, err)
		})
	})
}

// end allows the next look; what failed is tried again by then.
func (t *trimmer) end(r *tenure, err error) {
	t.busy = false
	if err != nil && r.log.ctx.Err() == nil {
		r.o.logger.Warn("the partition's logs are not trimmed, a later checkpoint tries again", "error", err)
	}
}

// deleted is what an answer says about all that was to be deleted.
func deleted(all kadm.DeleteRecordsResponses, err error) error {
	if err == nil {
		err = all.Error()
	}
	if err != nil {
		return fmt.Errorf("deleting what nobody needs any more: %w", err)
	}
	return nil
}
