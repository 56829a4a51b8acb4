package partition

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// replayBatch is how many replayed records one batch of the store holds.
const replayBatch = 512

// recover fences older owners off (O1), loads the store or restores it (O4),
// and replays the journal to its end.
// The reign may send until ctx ends; the recovery itself ends with before.
func (o *Owner) recover(ctx, before context.Context) (*reign, error) {
	o.set(Recovering, 0, "")
	select {
	case o.host.recovering <- struct{}{}:
		defer func() { <-o.host.recovering }()
	case <-before.Done():
		return nil, before.Err()
	}
	r, err := o.begin(ctx, before)
	if err != nil {
		return nil, err
	}
	if err := r.load(before); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (o *Owner) begin(ctx, before context.Context) (*reign, error) {
	h := o.host
	txn, err := kafka.NewTxn(h.Kafka, o.p)
	if err != nil {
		return nil, err
	}
	read, err := newReader(h.Kafka, h.adm)
	if err != nil {
		return nil, err
	}
	r := &reign{o: o, host: h, txn: txn, read: read, began: time.Now()}
	send, end := context.WithCancel(ctx)
	r.end = end
	r.log = &kafkaLog{ctx: send, host: h, p: o.p, journal: h.journalClient()}
	r.box = newMailbox(r.log, &h.Settings)
	r.log.box = r.box
	if err := txn.Fence(before); err != nil { // O1: before anything is read
		r.close()
		return nil, err
	}
	return r, nil
}

// load brings the state up to the journal's end.
func (r *reign) load(ctx context.Context) error {
	if err := r.host.identify(ctx); err != nil {
		return err
	}
	var err error
	if r.span, err = r.read.spanOf(ctx, r.host.names.Journal(), r.o.p); err != nil {
		return err
	}
	if err := r.openStore(ctx); err != nil {
		return err
	}
	r.newProcessor()
	if err := r.proc.recall(r.store); err != nil {
		return err
	}
	if err := r.recallTime(ctx); err != nil {
		return err
	}
	return r.replay(ctx, r.span.End)
}

// newProcessor makes the processor over the store as it is.
func (r *reign) newProcessor() {
	h := r.host
	r.state = newStoreState(r.store, h.Settings.CacheBytes)
	r.proc = NewProcessor(Config{
		Partition: r.o.p, Partitions: h.Partitions, Names: h.names, Settings: h.Settings,
		Machine: h.Machine(r.o.p), State: r.state, Log: r.log, Clock: systemClock{},
		Stats: h.Stats, Logger: r.o.logger,
	})
	m := r.store.Marks()
	r.proc.stored, r.proc.tail = m.Applied, m.Applied
	r.proc.epoch, r.proc.seq = m.Applied.Position.Epoch, m.Applied.Position.Seq
	r.proc.epoch, r.proc.seq = m.Applied.Position.Epoch, m.Applied.Position.Seq
	r.place = journal.Behind(m.Applied)
}

// recallTime reads the time of the last applied record: later ones are not
// before it (J2).
func (r *reign) recallTime(ctx context.Context) error {
	last := r.store.Marks().Applied
	if last.IsZero() || last.Offset < r.span.Start {
		return nil
	}
	k, err := r.read.one(ctx, r.host.names.Journal(), r.o.p, last.Offset)
	if err == nil && k != nil {
		r.proc.clock.last, r.proc.clock.since = k.Timestamp.UnixMilli(), r.proc.clock.at
	}
	return err
}

type systemClock struct{}

// Now implements Clock.
func (systemClock) Now() time.Time { return time.Now() }

// openStore opens a store that is proven, or makes one from the changelog (O4).
func (r *reign) openStore(ctx context.Context) error {
	opts := r.host.Store(r.o.p)
	s, err := store.Open(opts)
	if err == nil {
		r.store = s
		why, err := r.prove(ctx)
		if err != nil {
			return err
		}
		if r.known > r.span.End {
			return &BlockedError{fmt.Sprintf("the journal ends at offset %d, before offset %d that the store of this planner holds: restore the journal, or give up what is missing by removing the store", r.span.End, r.known-1)}
		}
		if why == "" {
			return r.adopt(r.store.Marks().Extra)
		}
		r.o.logger.Info("the store is not used again", "reason", why)
		if err := s.Close(); err != nil {
			r.o.logger.Warn("closing a discarded store", "error", err)
		}
		r.store = nil
	}
	if err := store.Discard(opts); err != nil {
		return err
	}
	if r.store, err = store.Open(opts); err != nil {
		return err
	}
	return r.restore(ctx)
}

// prove reads the journal from the store's last checkpoint to its last applied
// record: anything void, missing or different says why it is not used (O4).
func (r *reign) prove(ctx context.Context) (why string, err error) {
	m := r.store.Marks()
	switch {
	case !m.Complete:
		return "it was never restored to its end", nil
	case m.Cluster != r.host.cluster:
		return "it is of another cluster", nil
	case !bytes.Equal(m.Topic[:], r.host.idOf(r.host.names.Journal())):
		return "it is of another journal", nil
	}
	if m.Applied.Offset >= r.span.End && !m.Applied.IsZero() {
		r.known = m.Applied.Offset + 1
	}
	return r.host.reader.Prove(ctx, r.o.p, m.Checkpoint, m.Applied)
}

// restore fills a new store from the changelog; without a checkpoint it is
// empty and the whole journal is replayed.
func (r *reign) restore(ctx context.Context) error {
	topic := r.host.names.State()
	s, err := r.read.spanOf(ctx, topic, r.o.p)
	if err != nil {
		return err
	}
	var found []byte
	restorer := r.store.Restorer()
	mark := markerKey.Append(nil)
	err = r.read.read(ctx, topic, r.o.p, s.Start, s.End, func(k *kgo.Record) error {
		if bytes.Equal(k.Key, mark) {
			found = k.Value
			return nil
		}
		return restorer.Put(k.Key, k.Value)
	})
	if err != nil {
		return err
	}
	m := &marker{Topic: r.host.idOf(r.host.names.Journal())}
	if found != nil {
		if m, err = decodeMarker(found); err != nil {
			return err
		}
	}
	if err := r.fits(m, found != nil); err != nil {
		return err
	}
	marks := store.Marks{
		Cluster: r.host.cluster, Guard: m.Applied, Applied: m.ReplayFrom, Checkpoint: m.ReplayFrom, Extra: encodeMarker(m),
	}
	copy(marks.Topic[:], m.Topic)
	if err := restorer.Finish(marks); err != nil {
		return err
	}
	return r.adopt(marks.Extra)
}

// fits says whether the journal holds what the changelog rests on. What is
// missing is never made up: an operator decides.
func (r *reign) fits(m *marker, found bool) error {
	known := int64(0)
	if !m.Applied.IsZero() {
		known = m.Applied.Offset + 1
	}
	switch {
	case found && !bytes.Equal(m.Topic, r.host.idOf(r.host.names.Journal())):
		return &BlockedError{"the journal topic was made anew: its checkpoint is of another one"}
	case r.span.End < known:
		return &BlockedError{fmt.Sprintf("the journal ends at offset %d, before a known position: offset %d", r.span.End, known)}
	case !found && r.span.Start > 0:
		return &BlockedError{fmt.Sprintf("the journal begins at offset %d and there is no checkpoint of what was before", r.span.Start)}
	case found && !m.ReplayFrom.IsZero() && m.ReplayFrom.Offset+1 < r.span.Start:
		return &BlockedError{fmt.Sprintf("the journal begins at offset %d, behind what the last checkpoint needs: offset %d", r.span.Start, m.ReplayFrom.Offset+1)}
	}
	return nil
}

// adopt takes over what the store keeps about the last checkpoint.
func (r *reign) adopt(extra []byte) error {
	m := &marker{}
	if len(extra) > 0 {
		var err error
		if m, err = decodeMarker(extra); err != nil {
			return err
		}
	}
	r.epochs = m.Epochs
	r.check.cursors = m.Cursors
	return nil
}

// rereadable is a replayed record whose effects need the input's bytes.
type rereadable struct {
	rec    *events.Record
	number int
}

// replay applies the journal from where the state is up to an offset.
func (r *reign) replay(ctx context.Context, to int64) error {
	if to <= r.place.Offset {
		return nil
	}
	guard := r.store.Marks().Guard
	b := &replayed{r: r}
	place, err := r.host.reader.Read(ctx, journal.Range{Partition: r.o.p, From: r.place, To: journal.End(to)}, func(e journal.Entry) error {
		r.pending.Store(to - e.Mark.Offset - 1)
		return b.add(e.Record, e.Mark, !guard.Position.Before(e.Record.Position))
	})
	if err == nil {
		err = b.flush()
	}
	if err != nil {
		return err
	}
	r.place = place
	r.pending.Store(0)
	return nil
}

// replayed collects replayed records into batches of the store.
type replayed struct {
	r    *reign
	n    int
	more []rows.Write
}

func (b *replayed) add(rec *events.Record, at journal.Mark, guarded bool) error {
	p := b.r.proc
	outs, err := p.replayRecord(rec, at, guarded)
	if err != nil {
		return err
	}
	for _, o := range outs {
		b.more = append(b.more, rows.Write{Key: o.row(), Row: o.outboxRow(), Created: true})
	}
	if !guarded {
		b.note(rec, at, len(outs))
	}
	b.r.host.Stats.Replayed.Add(1)
	if b.n++; b.n >= replayBatch {
		return b.flush()
	}
	return nil
}

// note remembers what of a record matters to the owner beside the state.
func (b *replayed) note(rec *events.Record, at journal.Mark, outs int) {
	r := b.r
	if rec.Position.Seq == 1 {
		r.epochs = chain(r.epochs, epochRow{rec.Position.Epoch, at.Offset}, r.span.Start)
		r.proc.fail(r.saveEpochs())
	}
	if rec.ID != "" {
		r.lastID = rec.ID
	}
	if needsOriginal(rec) {
		r.replayed = append(r.replayed, rereadable{rec, outs})
	}
}

func (b *replayed) flush() error {
	p := b.r.proc
	if b.n == 0 || p.fault != nil {
		return p.fault
	}
	more := append(b.more, p.positionWrites()...)
	if err := p.State.Commit(p.n, p.tail, more); err != nil {
		return err
	}
	p.stored, p.storedN = p.tail, p.n
	b.n, b.more = 0, nil
	return nil
}

// saveEpochs keeps the epoch chain with the store, before the record that began
// the newest one is part of it.
func (r *reign) saveEpochs() error {
	m := r.store.Marks()
	kept := &marker{}
	if len(m.Extra) > 0 {
		var err error
		if kept, err = decodeMarker(m.Extra); err != nil {
			return err
		}
	}
	kept.Epochs = r.epochs
	m.Extra = encodeMarker(kept)
	return r.store.SetMarks(m)
}

var errNotLawful = errors.New("the takeover record is void: another owner was faster")
