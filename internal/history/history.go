package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// ErrGone is a place that the journal does not hold any more.
var ErrGone = errors.New("the journal does not hold this place any more")

// Run is a run as the planner knows it.
type Run struct {
	Workflow  string
	Partition int32
	Start     events.Position // of its WorkflowStarted
	Created   time.Time       // time of that record
	Closed    bool            // it is completed or cancelled
}

// Item is one event with its place.
type Item struct {
	Cursor Cursor
	Time   int64 // Unix ms
	Event  events.Event
}

// Read reads the events of run behind from, in order, up to the record at
// position until and including it, or for ever when until is zero. It ends
// earlier when visit returns false or ctx ends. It has a Kafka client of its own
// while it reads. Of inputs that changed nothing it tells some, with their number.
func Read(ctx context.Context, cfg kafka.Config, run Run, from Cursor, until events.Position, visit func(Item) bool) error {
	return readAll(ctx, cfg, run, from, until, func(i Item) bool { return !i.listed() || visit(i) })
}

// Follow is Read until the run ends. One that is closed already is told up to its
// last record as of asOf; another one up to the record that closes it.
func Follow(ctx context.Context, cfg kafka.Config, run Run, from Cursor, asOf events.Position, visit func(Item) bool) error {
	if run.Closed {
		return Read(ctx, cfg, run, from, asOf, visit)
	}
	var last Cursor // of the event that closes it
	left := false
	err := Read(ctx, cfg, run, from, events.Position{}, func(i Item) bool {
		if closes(i.Event) {
			last = i.Cursor
		}
		left = !visit(i)
		return !left && last.IsZero()
	})
	if err != nil || left || last.IsZero() {
		return err
	}
	return Read(ctx, cfg, run, last, last.Position, visit) // what else its record has
}

// closes reports whether a run ends with an event.
func closes(e events.Event) bool {
	switch e.(type) {
	case *events.WorkflowCompleted, *events.WorkflowCancelled:
		return true
	}
	return false
}

// readAll is History that leaves nothing out.
func readAll(ctx context.Context, cfg kafka.Config, run Run, from Cursor, until events.Position, visit func(Item) bool) error {
	names, err := cfg.Names()
	if err != nil {
		return err
	}
	cl, err := kafka.NewPartitionConsumer(cfg)
	if err != nil {
		return err
	}
	defer cl.Close()
	h := history{cl: cl, topic: names.Journal(), run: run, from: from, until: until, visit: visit, without: from.WithoutEffect}
	if err := h.seek(ctx); err != nil {
		return err
	}
	return h.read(ctx)
}

type history struct {
	cl    *kgo.Client
	topic string
	run   Run
	from  Cursor
	until events.Position
	visit func(Item) bool

	filter  journal.Filter
	begun   bool   // the first lawful record was found
	without uint64 // inputs of the run so far that changed nothing
}

// seek goes to the record that reading begins with: the place of the cursor,
// else the run's first record, which is not before the run's creation.
func (h *history) seek(ctx context.Context) error {
	offset := h.from.Offset
	h.filter = journal.At(h.from.Position)
	if h.from.IsZero() {
		h.filter = journal.At(h.run.Start)
		var err error
		if offset, err = h.created(ctx); err != nil {
			return err
		}
	}
	h.cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{
		h.topic: {h.run.Partition: kgo.NewOffset().At(offset)},
	})
	return nil
}

func (h *history) created(ctx context.Context) (int64, error) {
	list, err := kadm.NewClient(h.cl).ListOffsetsAfterMilli(ctx, h.run.Created.UnixMilli(), h.topic)
	if err == nil {
		err = list.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("find the start of %s in the journal: %w", h.run.Workflow, err)
	}
	o, ok := list.Lookup(h.topic, h.run.Partition)
	if !ok {
		return 0, fmt.Errorf("find the start of %s in the journal: partition %d is not there", h.run.Workflow, h.run.Partition)
	}
	return o.Offset, nil
}

func (h *history) read(ctx context.Context) error {
	for {
		fetches := h.cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, f := range fetches.Errors() {
			if kafka.IsDataLoss(f.Err) {
				return ErrGone
			}
			if !kafka.IsRetriable(f.Err) {
				return fmt.Errorf("read the journal: %w", f.Err)
			}
		}
		for _, r := range fetches.Records() {
			more, err := h.record(r)
			if err != nil || !more {
				return err
			}
		}
	}
}

// record takes one record; more is false when visit has had enough.
func (h *history) record(r *kgo.Record) (more bool, err error) {
	head, err := journal.ParseHeaders(r.Headers)
	if err != nil {
		return true, nil // no journal record, therefore void
	}
	first := h.run.Start
	if !h.from.IsZero() {
		first = h.from.Position
	}
	if !head.Lawful(&h.filter) {
		if !h.begun && first.Before(head.Position) {
			return false, ErrGone // positions ascend: the first one was here and is gone
		}
		return true, nil
	}
	h.begun = true
	last := !h.until.IsZero() && !head.Position.Before(h.until)
	if string(r.Key) != h.run.Workflow {
		return !last, nil
	}
	rec, err := journal.Decode(r)
	if err != nil {
		return false, fmt.Errorf("journal partition %d, offset %d: %w", r.Partition, r.Offset, err)
	}
	return h.emit(r.Offset, rec) && !last, nil
}

func (h *history) emit(offset int64, rec *events.Record) bool {
	for i, e := range rec.Events {
		if rec.Position == h.from.Position && i <= h.from.Index {
			continue
		}
		if withoutEffect(e) {
			h.without++
		}
		at := Cursor{Offset: offset, Position: rec.Position, Index: i, WithoutEffect: h.without}
		if !h.visit(Item{Cursor: at, Time: rec.Time, Event: e}) {
			return false
		}
	}
	return true
}
