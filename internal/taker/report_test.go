package taker

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
)

// ending reports the end of a new attempt and returns its report as produced.
func ending(t *testing.T, tk *Taker, log *outbox, n int) promised {
	t.Helper()
	token := fmt.Appendf(nil, "token of attempt %d", n)
	a := &Attempt{Workflow: fmt.Sprintf("w%d", n), Spec: events.Task{Token: token}, pool: tk.pools[0]}
	copy(a.key[:], fmt.Sprint(n))
	tk.end(a, events.TaskOutcome{Token: token, Outcome: events.OutcomeCompleted, Result: fmt.Appendf(nil, "%d", n)}, time.Now())
	return log.last(t)
}

// last takes the report that was produced last.
func (o *outbox) last(t *testing.T) promised {
	t.Helper()
	if len(o.reports) != 1 {
		t.Fatalf("%d reports were produced, want 1", len(o.reports))
	}
	p := o.reports[0]
	o.reports = nil
	return p
}

func outcomeIn(t *testing.T, r *kgo.Record) *events.TaskOutcome {
	t.Helper()
	m, err := events.DecodeInbox(r.Value)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*events.TaskOutcome)
}

// The client may look at a record that failed: it is not used again, unlike
// those that are acknowledged.
func TestAReportThatFailedIsSentAgainInAnotherRecord(t *testing.T) {
	tk, log := without(t, 1)
	failed := ending(t, tk, log, 0)
	was := string(failed.record.Value)
	failed.promise(failed.record, errors.New("the log is full"))
	for n := range 50 {
		p := ending(t, tk, log, n+1)
		if o := outcomeIn(t, p.record); string(o.Result) != fmt.Sprint(n+1) || string(p.record.Key) != fmt.Sprintf("w%d", n+1) {
			t.Fatalf("attempt %d reports %s by %s", n+1, o.Result, p.record.Key)
		}
		p.promise(p.record, nil)
	}
	tk.resend(time.Now())
	again := log.last(t)
	if again.record == failed.record || string(failed.record.Value) != was || string(again.record.Value) != was || string(again.record.Key) != "w0" {
		t.Errorf("sent again: %q of %s, want %q of w0 in a record of its own", again.record.Value, again.record.Key, was)
	}
	again.promise(again.record, nil)
	if tk.resend(time.Now()); len(log.reports) > 0 {
		t.Error("a report that was acknowledged is sent again")
	}
}

func TestAResultThatNoRecordHoldsIsAFailure(t *testing.T) {
	tk, log := without(t, 1)
	first := ending(t, tk, log, 7)
	first.promise(first.record, kerr.MessageTooLarge)
	second := log.last(t)
	o := outcomeIn(t, second.record)
	if o.Outcome != events.OutcomeFailed || o.Error == nil || o.Error.Type != events.ErrorResultTooLarge || string(o.Token) != "token of attempt 7" {
		t.Errorf("got %+v, want a failure", o)
	}
	// Not even that one fits: the attempt goes on without it.
	second.promise(second.record, kerr.MessageTooLarge)
	if len(log.reports) > 0 || !tk.ledger.recent.has(key{'7'}, time.Now()) {
		t.Error("the attempt is not settled")
	}
}
