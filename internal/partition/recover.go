package partition

import (
	"context"
	"errors"
	"time"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/partition/defect"
	"github.com/heddle-run/heddle/internal/partition/feed"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
)

// replayBatch is how many replayed records one batch of the store holds.
const replayBatch = 512

// recover fences older owners off (O1), loads the store or restores it,
// and replays the journal to its end.
// The tenure may send until ctx ends; the recovery itself ends with before.
func (o *Owner) recover(ctx, before context.Context, broken func(error)) (*tenure, error) {
	if o.Status().State != Blocked { // it stays so until it is not
		o.set(Recovering, 0, "")
	}
	r, err := o.begin(ctx, before)
	if err != nil {
		return nil, err
	}
	r.broken = broken
	// Behind the fence, which may take as long as a coordinator is away.
	if err := r.turn.take(); err != nil {
		r.close()
		return nil, err
	}
	defer r.turn.end()
	if err := defect.Caught(o.logger, o.host.Stats, func() error { return r.load(before) }); err != nil {
		r.tell(before, err)
		r.close()
		return nil, err
	}
	return r, nil
}

func (o *Owner) begin(ctx, before context.Context) (*tenure, error) {
	h := o.host
	txn, err := h.Cluster.Txn(o.p)
	if err != nil {
		return nil, err
	}
	read, err := newReader(h.Cluster, h.adm)
	if err != nil {
		return nil, err
	}
	r := &tenure{o: o, host: h, txn: txn, read: read, turn: &turn{ctx: before, slots: h.recovering}, began: time.Now()}
	read.cl, r.journal = turnReader{read.cl, r.turn}, journal.Over(turnSource{h.source, r.turn}, h.names)
	send, end := context.WithCancel(ctx)
	r.end = end
	r.log = &kafkaLog{ctx: send, host: h, p: o.p, journal: h.journalClient()}
	r.box = feed.NewMailbox(r.log, &h.Settings)
	r.log.box = r.box
	if h.Flaws.LateFence.On() {
		return r, nil
	}
	if err := txn.Fence(before); err != nil { // O1: before anything is read
		r.close()
		return nil, err
	}
	return r, nil
}

// load brings the state up to the journal's end.
func (r *tenure) load(ctx context.Context) error {
	var err error
	if r.id, err = r.host.identify(ctx); err != nil {
		return err
	}
	if r.span, err = r.read.spanOf(ctx, r.host.names.Journal(), r.o.p); err != nil {
		return err
	}
	if err := r.openStore(ctx); err != nil {
		return r.orGoOn(ctx, err)
	}
	r.newProcessor()
	if err := r.proc.Recall(); err != nil {
		return err
	}
	if err := r.recallTime(ctx); err != nil {
		return err
	}
	if err := r.replay(ctx, r.span.End); err != nil {
		return err
	}
	if err := r.agrees(); err != nil {
		return err
	}
	return r.askLosses(ctx)
}

// newProcessor makes the processor over the store as it is.
func (r *tenure) newProcessor() {
	h := r.host
	m := r.store.Metadata()
	r.state = newStoreState(r.store, h.hot, h.Stats)
	h.stores.add(r.o.p, r.store, r.span.Start)
	r.proc = loop.NewProcessor(loop.Config{
		Partition: r.o.p, Partitions: h.Partitions, Applied: m.Applied, Names: h.names, Settings: h.Settings,
		Machine: h.Machine(r.o.p), State: r.state, Workflows: storedWorkflows{r.store}, Stored: r.store, Log: r.log, Clock: h.Clock, Flaws: h.Flaws,
		Stats: h.Stats, Observer: h.Observer, Logger: r.o.logger,
	})
	r.place = journal.Behind(m.Applied)
	r.place.Offset = max(r.place.Offset, r.covered)
}

// RecallTime reads the time of the last applied record: later ones are not
// before it.
func (r *tenure) recallTime(ctx context.Context) error {
	last := r.store.Metadata().Applied
	if last.IsZero() || last.Offset < r.span.Start {
		return nil
	}
	k, err := r.read.one(ctx, r.host.names.Journal(), r.o.p, last.Offset)
	if err == nil && k != nil {
		r.proc.RecallTime(k.Timestamp.UnixMilli())
	}
	return err
}

// replay applies the journal from where the state is up to an offset.
func (r *tenure) replay(ctx context.Context, to int64) error {
	if to <= r.place.Offset {
		return nil
	}
	guard := r.store.Metadata().Guard
	b := &replayed{r: r}
	place, err := r.journal.Read(ctx, journal.Range{Partition: r.o.p, From: r.place, To: journal.End(to), Void: r.host.Flaws.LenientReplay.On()}, func(e journal.Entry) error {
		r.pending.Store(to - e.Mark.Offset - 1)
		return b.add(e.Record, e.Mark, !guard.Position.Before(e.Record.Position))
	})
	if err == nil {
		err = b.flush()
	}
	if errors.Is(err, journal.ErrShort) || errors.Is(err, journal.ErrHeld) {
		return &BlockedError{err.Error()}
	}
	if err != nil {
		return err
	}
	r.place = place
	r.pending.Store(0)
	return nil
}

// replayed takes replayed records into the store, in batches.
type replayed struct {
	r *tenure
	n int
}

func (b *replayed) add(rec *events.Record, at journal.Mark, guarded bool) error {
	if err := b.r.givenUp(rec); err != nil {
		return err
	}
	if err := b.r.proc.Replay(rec, at, guarded); err != nil {
		return err
	}
	if !guarded {
		b.note(rec, at)
	}
	b.r.host.Stats.Replayed.Add(1)
	if b.n++; b.n >= replayBatch {
		return b.flush()
	}
	return nil
}

// note remembers what of a record matters to the owner beside the state.
func (b *replayed) note(rec *events.Record, at journal.Mark) {
	r := b.r
	if rec.Position.Seq == 1 {
		r.epochs = chain(r.epochs, takeover(rec, at.Offset), r.span.Start)
		r.proc.Fail(r.saveEpochs())
	}
	if rec.ID != "" {
		r.lastID = rec.ID
	}
}

func (b *replayed) flush() error {
	if b.n == 0 {
		return b.r.proc.Err()
	}
	b.n = 0
	return b.r.proc.WriteReplayed()
}

var errNotLawful = errors.New("the takeover record is void: another owner was faster")
