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
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
)

// A journal that lacks what the state rests on (decision 0036). The operator's word
// becomes one transaction of the fenced id, in which are the first record of a new
// epoch, above all that were ever known, and a marker that replay begins at that
// record. So the state is that of the last checkpoint for every owner that restores it, and
// nothing counts that the journal has from there up to the record: whose epoch is
// older is void behind it.

// journalLoss is that the journal, which was known to reach an offset, lacks what the
// state needs from another one on.
func (r *tenure) journalLoss(needs, reached int64, what string) error {
	from := min(needs, r.span.End)
	to := max(reached, r.span.End, from+1)
	return &LossError{Partition: r.o.p, Log: events.JournalLog, From: from, To: to,
		What: fmt.Sprintf("%s; without it the state is that of the last checkpoint, and offsets %d to %d count no more", what, from, to-1)}
}

// outlived says why a store is not used that holds more than the journal has: its
// journal was given up. Else that is a loss.
func (r *tenure) outlived(ctx context.Context) (why string, err error) {
	newest, err := r.newest(ctx)
	if err != nil {
		return "", err
	}
	if newest != nil && newest.Applied.Position.Epoch > r.store.Metadata().Applied.Position.Epoch {
		return "the journal that it rests on was given up", nil
	}
	return "", r.journalLoss(r.span.End, r.known, fmt.Sprintf("ends at offset %d, before offset %d that the store of this planner holds", r.span.End, r.known-1))
}

// errGivenUp ends a tenure whose state rests on what is given up: the next one begins
// with the checkpoint.
var errGivenUp = errors.New("the journal is given up as far as an operator has accepted, the state is made again from the last checkpoint")

// orGoOn looks for the operator's word about a loss of the journal, and obeys it.
// Without one the loss stays its error.
func (r *tenure) orGoOn(ctx context.Context, err error) error {
	var loss *LossError
	if !errors.As(err, &loss) {
		return err
	}
	m, stamp, failed := r.stampedNewest(ctx)
	if failed != nil {
		return failed
	}
	// A word of before the last checkpoint is of another loss.
	word, failed := r.heardOf(ctx, loss, 0, func(w *heardWord) bool { return w.stamp > stamp })
	switch {
	case failed != nil:
		return failed
	case word == nil:
		return err
	}
	return r.giveUp(ctx, loss, m, word)
}

// giveUp goes on from a checkpoint, nil being none, without the journal behind it.
func (r *tenure) giveUp(ctx context.Context, loss *LossError, m *marker, word *events.Command) error {
	if m == nil {
		m = &marker{}
	}
	if err := r.host.clock.agrees(ctx); err != nil {
		return err
	}
	if err := r.unhidden(ctx); err != nil {
		return err
	}
	published, err := r.lastLease(ctx)
	if err != nil {
		return err
	}
	survivor, err := r.survivor(ctx)
	if err != nil {
		return err
	}
	commands, err := r.read.spanOf(ctx, r.host.names.Commands(), r.o.p)
	if err != nil {
		return err
	}
	body := word.Body.(*events.AcceptLoss)
	rec := &events.Record{
		Position: events.Position{Epoch: max(m.Applied.Position.Epoch, published, survivor.position.Epoch, r.storedEpoch()) + 1, Seq: 1},
		Replaces: survivor.position.Epoch, Time: max(r.host.Clock.Now().UnixMilli(), survivor.time),
		Workflow: word.Workflow, ID: word.DedupeID(), Digest: word.Digest,
		Events: []events.Event{&events.JournalLost{From: loss.From, To: loss.To, Commands: commands.End, Reason: loss.What, By: body.By}},
	}
	at := journal.Mark{Position: events.Position{Epoch: rec.Position.Epoch}, Offset: r.span.End - 1}
	next := &marker{Applied: at, ReplayFrom: at, Topic: r.id.Journal, Cursors: m.Cursors, Redos: m.Redos}
	commit := r.commitOf(next, time.Time{})
	records := []*kgo.Record{
		journal.Encode(rec, r.host.names, r.o.p),
		kafka.Placed(r.host.names.State(), r.o.p, markerKey.Append(nil), encodeMarker(next), kafka.StateFormat...),
	}
	if err := r.txn.Run(ctx, records, commit); err != nil {
		return err
	}
	r.o.logger.Warn("a loss of the journal is accepted: the state goes on from the last checkpoint", "from", loss.From, "to", loss.To, "by", body.Who, "why", body.Why)
	return errGivenUp
}

// storedEpoch is the newest epoch that the store knows, if it is open.
func (r *tenure) storedEpoch() uint64 {
	if r.store == nil {
		return 0
	}
	return r.store.Metadata().Applied.Position.Epoch
}

// lastLease is the epoch of the lease that was published last. While that lasts the
// partition may be served by an owner that does not know of the loss: no other one knows so
// from the journal.
func (r *tenure) lastLease(ctx context.Context) (epoch uint64, err error) {
	last, err := r.lastPublished(ctx)
	if err != nil || last == nil {
		return 0, err
	}
	l, err := publishedLease(last.Value)
	until := l.LeasedUntil
	if err != nil {
		until = last.Timestamp.Add(r.host.Settings.Lease).UnixMilli()
	}
	if now := r.host.Clock.Now().UnixMilli(); (err != nil || r.excluded(l, until)) && now < until {
		return 0, &BlockedError{fmt.Sprintf("the operator's word about the journal is heard, it is obeyed when the last published lease has run out, at %s", time.UnixMilli(until).UTC().Format(time.RFC3339))}
	}
	return l.Epoch, nil
}

// survivor is the last record that counts for a reader of what the journal still has.
type survivor struct {
	position events.Position
	time     int64 // Unix ms
}

func (r *tenure) survivor(ctx context.Context) (survivor, error) {
	place, err := r.journal.Begin(ctx, r.o.p)
	if err != nil {
		return survivor{}, err
	}
	var s survivor
	place, err = r.journal.Read(ctx, journal.Range{Partition: r.o.p, From: place, To: journal.End(r.span.End)}, func(e journal.Entry) error {
		s.time = max(s.time, e.Record.Time)
		return nil
	})
	s.position = place.Filter.Last()
	return s, err
}

// givenUp refuses the record of an accepted loss of the journal for a state that does
// not rest on the checkpoint alone: it is thrown away.
func (r *tenure) givenUp(rec *events.Record) error {
	if _, ok := loop.About(rec).(*events.JournalLost); !ok || r.proc.Position() == (events.Position{Epoch: rec.Position.Epoch}) {
		return nil
	}
	return r.throwAway()
}

// agrees refuses a store of before that has never heard of what the changelog has: the
// journal by which it went on has been given up, and a reader of what is left of it
// passes over the record that says so.
func (r *tenure) agrees() error {
	m := r.marker
	if m == nil || !r.reused || !bytes.Equal(m.Topic, r.id.Journal) || !r.place.Filter.Last().Before(m.Applied.Position) {
		return nil
	}
	return r.throwAway()
}

// throwAway makes the next tenure restore its store from the changelog.
func (r *tenure) throwAway() error {
	m := r.store.Metadata()
	m.Complete = false
	if err := r.store.SetMetadata(m); err != nil {
		return err
	}
	return errGivenUp
}
