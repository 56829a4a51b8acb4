package partition

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
)

// waitStep is how often a waiting claimant looks for a release.
const waitStep = 100 * time.Millisecond

// claim takes the partition over with one fenced record (O2) and reads the
// journal up to it (O3). By a wrong clock a lease would seem to have run out.
func (r *tenure) claim(ctx context.Context) error {
	if err := r.host.clock.agrees(ctx); err != nil {
		return err
	}
	r.proc.Excuse(r.host.clock.excused.Load())
	if r.host.Flaws.LateFence.On() {
		if err := r.txn.Fence(ctx); err != nil {
			return err
		}
	}
	if err := r.reidentify(ctx); err != nil {
		return err
	}
	if err := r.unhidden(ctx); err != nil {
		return err
	}
	at, err := r.takeOver(ctx)
	if err != nil {
		return err
	}
	if r.host.Flaws.NoReadBack.On() {
		r.place = journal.Before(events.Position{Epoch: r.proc.Position().Epoch + 1, Seq: 1}, at)
	}
	if err := r.replay(ctx, at+1); err != nil {
		return err
	}
	if r.place.Filter.Last() != (events.Position{Epoch: r.proc.Position().Epoch, Seq: 1}) || r.proc.Lease().Owner != r.host.Owner {
		return errNotLawful
	}
	return nil
}

// unhidden waits until no transaction is open in the journal: what is appended
// behind one nobody reads, a takeover neither. The fence has ended those of older
// owners; another producer's keeps the partition blocked.
func (r *tenure) unhidden(ctx context.Context) error {
	topic := r.host.names.Journal()
	for began := time.Now(); ; sleep(ctx, waitStep) {
		end, err := ask(ctx, r.host.adm.ListEndOffsets, topic, r.o.p)
		if err != nil {
			return fmt.Errorf("asking for the end of %s/%d: %w", topic, r.o.p, err)
		}
		decided, err := r.read.end(ctx, topic, r.o.p)
		switch {
		case err != nil:
			return err
		case decided >= end:
			return nil
		case time.Since(began) > askTimeout:
			return &BlockedError{fmt.Sprintf("journal partition %d at offset %d: %v", r.o.p, decided, journal.ErrHeld)}
		}
	}
}

// publishedUntil is the end of the lease as its owner renewed it last. After the
// fence nobody can renew it any more.
func (r *tenure) publishedUntil(ctx context.Context) (int64, error) {
	last, err := r.lastPublished(ctx)
	if err != nil || last == nil {
		return 0, err
	}
	l, err := publishedLease(last.Value)
	switch {
	case err != nil:
		return r.unreadUntil(err), nil
	case l.Epoch == r.proc.Lease().Epoch && l.Owner == r.proc.Lease().Owner:
		return l.LeasedUntil, nil
	}
	return 0, nil
}

// unreadUntil bounds a lease whose last record cannot be read, and may not even
// be of its owner: it was renewed before the fence, and so before now, and a
// renewal lasts as long as an acquisition of its owner does. That may be longer
// than this claimant's own: settings differ while they are changed.
func (r *tenure) unreadUntil(why error) int64 {
	until := r.host.Clock.Now().UnixMilli() + max(r.term(), r.host.Settings.Lease.Milliseconds())
	r.o.logger.Warn("the published lease is unreadable, it is waited out", "error", why, "until", time.UnixMilli(until))
	return until
}

// term is how long (ms) a lease of the present owner lasts, by the record of its
// acquisition. It is 0 if nobody owns.
func (r *tenure) term() int64 {
	i := slices.IndexFunc(r.epochs, func(e epochRow) bool { return e.Epoch == r.proc.Lease().Epoch })
	if i < 0 {
		return 0
	}
	return r.epochs[i].Term
}

func publishedLease(value []byte) (runtime.Lease, error) {
	var rec runtime.Record
	if err := json.Unmarshal(value, &rec); err != nil {
		return runtime.Lease{}, fmt.Errorf("reading the published lease: %w", err)
	}
	l, err := runtime.FromPublished(rec.Authority)
	if err != nil {
		return l, fmt.Errorf("reading the published lease: %w", err)
	}
	return l, nil
}

// await returns when the lease is free, expired by the clock, or need not be
// waited out. An operator's release in commands ends the wait (O2). However far
// ahead the owner's clock was, it ends a term after the fence: the owner renewed
// before that, for a term that it counts from then on.
func (r *tenure) await(ctx context.Context, until int64) error {
	fenced := time.Now()
	held, term := r.proc.Lease(), r.term()
	look := lookout{r: r}
	for r.excluded(held, max(held.LeasedUntil, until)) && (term <= 0 || time.Since(fenced).Milliseconds() < term) {
		r.o.set(Waiting, held.Epoch, "held by "+held.Owner)
		if err := look.again(ctx); err != nil {
			return err
		}
		if r.word != nil {
			return nil
		}
		now := r.proc.Lease()
		if now.Owner != held.Owner || now.Epoch != held.Epoch { // what was published is not of this one
			until, term = 0, r.term()
		}
		held = now
		sleep(ctx, waitStep)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// excluded reports whether a lease keeps this owner out now.
func (r *tenure) excluded(l runtime.Lease, until int64) bool {
	s := r.host.Settings
	switch {
	case !l.Held(), l.Owner == r.host.Owner, s.BrokerIsOurs:
		return false
	case s.NeverRunsTwice && strings.HasPrefix(l.Owner, r.host.Instance+"/"):
		return false
	}
	return r.host.Clock.Now().UnixMilli() < until
}

// lookout follows journal and commands of a partition that another one holds.
type lookout struct {
	r        *tenure
	commands int64 // read so far
	began    bool
}

func (l *lookout) again(ctx context.Context) error {
	r := l.r
	end, err := r.read.end(ctx, r.host.names.Journal(), r.o.p)
	if err != nil {
		return err
	}
	if err := r.replay(ctx, end); err != nil {
		return err
	}
	topic := r.host.names.Commands()
	s, err := r.read.spanOf(ctx, topic, r.o.p)
	if err != nil {
		return err
	}
	if !l.began {
		l.began, l.commands = true, max(s.Start, r.proc.Input(events.FromCommands).Row.Next)
	}
	err = r.read.read(ctx, topic, r.o.p, l.commands, s.End, l.command)
	l.commands = max(l.commands, s.End)
	return err
}

// command looks at one command for an operator's release of the partition.
func (l *lookout) command(k *kgo.Record) error {
	if l.r.word != nil {
		return nil
	}
	p, cmd := l.r.proc, l.r.wordOf(k)
	if cmd == nil {
		return nil
	}
	_, release := cmd.Body.(*events.ReleasePartition)
	if release && p.Undecided(cmd, k.Timestamp.UnixMilli()) {
		l.r.word = cmd
	}
	return p.Err()
}

// takeOver appends the one record that makes this owner the lawful one, in a
// transaction of the fenced id, and returns its offset (O2).
func (r *tenure) takeOver(ctx context.Context) (int64, error) {
	p := r.proc
	p.Tick()
	s := r.host.Settings
	reason := "expired"
	if r.word != nil {
		reason = "released by an operator"
	}
	until := p.RecordTime() + s.Lease.Milliseconds()
	es, err := p.Lease().TakeOver(r.host.Owner, r.host.LeaseID(), until, r.id.Cluster, reason)
	if err != nil {
		return 0, err
	}
	acquired := es[len(es)-1].(*events.AuthorityAcquired)
	acquired.CommandsID, acquired.InboxID = r.id.Commands, r.id.Inbox
	rec := &events.Record{
		Position: events.Position{Epoch: p.Position().Epoch + 1, Seq: 1}, Replaces: p.Position().Epoch,
		Time: p.RecordTime(), Events: es,
	}
	r.heed(rec)
	k := journal.Encode(rec, r.host.names, r.o.p)
	if err := r.txn.Run(ctx, []*kgo.Record{k}, nil); err != nil {
		return 0, err
	}
	return k.Offset, nil
}

// heed records the operator's word with the takeover, so that the command is a
// repetition when it is read in its turn.
func (r *tenure) heed(rec *events.Record) {
	if r.word == nil {
		return
	}
	rec.Workflow, rec.ID, rec.Digest = r.word.Workflow, r.word.DedupeID(), r.word.Digest
	b := r.word.Body.(*events.ReleasePartition)
	for _, e := range rec.Events {
		if released, ok := e.(*events.AuthorityReleased); ok {
			released.By = b.By
		}
	}
}
