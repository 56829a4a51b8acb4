package partition

import (
	"context"
	"fmt"

	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
)

// inspectInputs finds out whether the input logs are still what was read, and
// journals what is not (inputs that vanish).
func (r *tenure) inspectInputs(ctx context.Context) error {
	for _, s := range loop.Inputs {
		event, next, err := r.inspect(ctx, s)
		if err != nil {
			return err
		}
		if event == nil {
			continue
		}
		if err := r.allowed(event); err != nil {
			return err
		}
		what := loop.WhatVanished(event)
		r.o.logger.Warn("an input log is not what it was", "log", s.String(), "event", events.Name(event), "what", what, "reading from", next)
		var word *events.Command
		if _, lost := event.(*events.InputLost); lost {
			word = r.words[s]
		}
		r.proc.GoOn(s, event, next, word)
		r.notes = append(r.notes, fmt.Sprintf("input log %s: %s: %s; reading goes on at offset %d", s, events.Name(event), what, next))
	}
	return nil
}

// allowed refuses a loss that no operator has accepted. It was asked before the
// takeover: this one has grown since, or is new.
func (r *tenure) allowed(e events.Event) error {
	lost, ok := e.(*events.InputLost)
	if !ok || r.host.Flaws.SilentLosses.On() {
		return nil
	}
	loss := inputLoss(r.o.p, lost.Log, lost.From, lost.To)
	word := r.words[lost.Log]
	if word == nil || !loss.accepts(word.Body.(*events.AcceptLoss)) {
		return loss
	}
	lost.By = word.Body.(*events.AcceptLoss).By
	return nil
}

// inspect compares an input log with what its position remembers.
func (r *tenure) inspect(ctx context.Context, s events.Source) (events.Event, int64, error) {
	l := r.proc.Input(s)
	topic := r.host.router.Topic(s)
	log, err := r.read.spanOf(ctx, topic, r.o.p)
	if err != nil {
		return nil, 0, err
	}
	r.ends[s], l.Start = log.End, log.Start
	truncated := func(reason string, resume int64) (events.Event, int64, error) {
		return &events.InputLogTruncated{Log: s, Generation: l.Row.Generation + 1, Expected: l.Next, Resume: resume, Reason: reason}, resume, nil
	}
	switch {
	case l.Row.Remade:
		return truncated("the topic was made anew", log.Start)
	case l.Next < log.Start:
		return &events.InputLost{Log: s, Generation: l.Row.Generation + 1, From: l.Next, To: log.Start, Reason: "the log begins later"}, log.Start, nil
	case l.Next > log.End:
		resume, err := r.divergence(ctx, s, log)
		if err != nil {
			return nil, 0, err
		}
		return truncated("the log is shorter", resume)
	}
	same, err := r.isLast(ctx, s, log)
	if err != nil || same {
		return nil, 0, err
	}
	resume, err := r.divergence(ctx, s, log)
	if err != nil {
		return nil, 0, err
	}
	return truncated("another record is where one was read", resume)
}

// matches reports whether the record that was read is still where it was. What cannot
// be read any more, or was never known, is not doubted.
func (r *tenure) matches(ctx context.Context, s events.Source, m loop.ReadRecord, log span) (bool, error) {
	if m.Digest == 0 || m.Offset < log.Start {
		return true, nil
	}
	if m.Offset >= log.End {
		return false, nil
	}
	rec, err := r.read.one(ctx, r.host.router.Topic(s), r.o.p, m.Offset)
	if err != nil || rec == nil {
		return r.trimmed(ctx, s, m.Offset, err)
	}
	row := &r.proc.Input(s).Row
	return m.IsOf(rec, row.Time+row.Ahead), nil
}

// isLast says the same of the last record that was read: by the checkpoint's cursor,
// as that one may have left none in the journal, else by the row.
func (r *tenure) isLast(ctx context.Context, s events.Source, log span) (bool, error) {
	l := r.proc.Input(s)
	switch {
	case l.Last == 0:
		return r.matches(ctx, s, loop.ReadRecord{Offset: l.Row.Next - 1, LeaderEpoch: l.Row.LeaderEpoch, Digest: l.Row.Digest}, log)
	case l.Next <= log.Start:
		return true, nil
	}
	rec, err := r.read.one(ctx, r.host.router.Topic(s), r.o.p, l.Next-1)
	if err != nil || rec == nil {
		return r.trimmed(ctx, s, l.Next-1, err)
	}
	return loop.Fingerprint(loop.DigestOf(rec), rec.Timestamp.UnixMilli()) == l.Last, nil
}

// trimmed reports whether a record that is not there any more has been deleted with all
// before it, since the log was asked where it begins: then nothing else is in its place.
func (r *tenure) trimmed(ctx context.Context, s events.Source, offset int64, err error) (bool, error) {
	if err != nil || r.host.Flaws.TrimmedIsOther.On() {
		return false, err
	}
	log, err := r.read.spanOf(ctx, r.host.router.Topic(s), r.o.p)
	return offset < log.Start, err
}

// divergence is the earliest offset that may be new: behind the newest
// remembered record that is still in its place.
func (r *tenure) divergence(ctx context.Context, s events.Source, log span) (int64, error) {
	row := r.proc.Input(s).Row
	reads := append(row.Older[:len(row.Older):len(row.Older)], loop.ReadRecord{Offset: row.Next - 1, LeaderEpoch: row.LeaderEpoch, Digest: row.Digest})
	for i := len(reads) - 1; i >= 0; i-- {
		if reads[i].Digest == 0 || reads[i].Offset < log.Start {
			continue
		}
		same, err := r.matches(ctx, s, reads[i], log)
		if err != nil {
			return 0, err
		}
		if same {
			return reads[i].Offset + 1, nil
		}
	}
	return log.Start, nil
}
