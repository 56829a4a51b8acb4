package worker

import (
	"context"
	"fmt"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

const (
	// mostMisfits is how often a report is sent again whose batch is too large, though
	// it alone should fit: a broker that tells a limit and keeps another one is not asked for ever.
	mostMisfits = 5

	// shortMessage is what is kept of a failure's message that no record can hold, in
	// bytes. It fits the least limit that is believed.
	shortMessage = 1 << 10
)

// misfit goes on with a report of a batch that is too large for the inbox. A batch is refused
// whole: a report that is larger by itself than what the inbox is known to take is
// shortened; for any other one the limit was lowered, which is asked for, and it is sent
// again in a smaller batch (decision 0044).
func (t *Worker) misfit(r *report) {
	r.misfits++
	limit := int(t.config.Kafka.Limits.Of(t.inbox, t.mostInbox))
	if kafka.BatchBytes(&r.record) > limit || r.misfits > mostMisfits {
		t.tracker.reported(len(r.room))
		t.refused(r, limit)
		return
	}
	t.misfits.add(r)
	select {
	case t.misfitting <- struct{}{}:
	default:
	}
}

// askLimits asks for the limit of the inbox whenever reports were refused that should
// fit, and lets them be sent again.
func (t *Worker) askLimits(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.misfitting:
		}
		limit, less, err := t.config.Kafka.LearnLimit(ctx, t.inbox)
		if err != nil { // ctx has ended: of a broker that does not tell, something is believed
			return
		}
		if less {
			t.log.Warn(fmt.Sprintf("topic %s takes batches of %d bytes only, which is less than it should", t.inbox, limit))
		}
		t.unproduced.add(t.misfits.take()...)
	}
}

// refused goes on without a report that no record can hold, and with what is left of it
// when it is shortened, if that is anything.
func (t *Worker) refused(r *report, limit int) {
	if Shorten(r.inbox.Message, limit) {
		t.send(newReport(), r.attempt, r.inbox.Message, r.record.Timestamp)
		return
	}
	t.log.Error("a report does not fit the inbox and is dropped", "topic", t.inbox, "limit", limit, "workflow", r.attempt.Workflow)
	t.acknowledged(r.attempt, r.inbox.Message)
}

// Shorten makes a message fit a record of limit bytes, and reports whether there was
// anything to shorten. A result's place is taken by the failure that it is too large.
func Shorten(m events.InboxMessage, limit int) bool {
	switch m := m.(type) {
	case *events.TaskHeartbeat:
		had := len(m.Details) > 0
		m.Details = nil
		return had
	case *events.TaskOutcome:
		if m.Outcome == events.OutcomeCompleted {
			tooLarge(m, len(m.Result), max(0, limit-inboxOverhead))
			return true
		}
		if e := m.Error; e != nil && (len(e.Details) > 0 || len(e.Message) > 2*shortMessage) {
			short := *e
			short.Details = nil
			short.Message = fmt.Sprintf("%s… (cut with its details: records of the inbox have at most %d bytes)", events.Cut(e.Message, shortMessage), limit)
			m.Error = &short
			return true
		}
	case *events.TaskNotified: // it has nothing that could be left out
	}
	return false
}
