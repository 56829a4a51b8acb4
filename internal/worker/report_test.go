package worker

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
)

// ending reports the end of a new attempt and returns its report as produced.
func ending(t *testing.T, tk *Worker, log *outbox, n int) promised {
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

// noFit is a limit of the inbox that holds no result of a test.
const noFit = 40

func TestAResultThatNoRecordHoldsIsAFailure(t *testing.T) {
	tk, log := without(t, 1)
	tk.mostInbox = noFit
	first := ending(t, tk, log, 7)
	first.promise(first.record, kerr.MessageTooLarge)
	second := log.last(t)
	o := outcomeIn(t, second.record)
	if o.Outcome != events.OutcomeFailed || o.Error == nil || o.Error.Type != events.ErrorResultTooLarge || string(o.Token) != "token of attempt 7" {
		t.Errorf("got %+v, want a failure", o)
	}
	// Not even that one fits: the attempt goes on without it.
	second.promise(second.record, kerr.MessageTooLarge)
	if len(log.reports) > 0 || !tk.tracker.recent.has(key{'7'}, time.Now()) {
		t.Error("the attempt is not settled")
	}
}

// A failure that no record holds is told without its details, its message cut.
func TestAFailureThatNoRecordHoldsIsShortened(t *testing.T) {
	tk, log := without(t, 1)
	tk.mostInbox = 16 << 10
	a := &Attempt{Workflow: "w", Spec: events.Task{Token: []byte("token of an attempt")}, pool: tk.pools[0]}
	a.life.begin(t.Context(), time.Time{})
	tk.conclude(a, nil, &TaskError{Type: "wrong", Message: strings.Repeat("é", 2000), Details: []byte(`"` + strings.Repeat("d", 20<<10) + `"`)})
	first := log.last(t)
	first.promise(first.record, kerr.MessageTooLarge)
	e := outcomeIn(t, log.last(t).record).Error
	if e == nil || e.Type != "wrong" || len(e.Details) > 0 || !strings.HasPrefix(e.Message, "éé") || !strings.Contains(e.Message, "16384 bytes") {
		t.Errorf("told is %+v", e)
	}
}

// A report that should fit is sent again, whatever its batch was, but not for ever.
func TestAReportOfABatchThatIsTooLargeIsSentAgain(t *testing.T) {
	tk, log := without(t, 1)
	p := ending(t, tk, log, 7)
	for n := range mostMisfits {
		p.promise(p.record, kerr.MessageTooLarge)
		if len(log.reports) > 0 {
			t.Fatalf("it is sent again before its limit is asked for: %+v", outcomeIn(t, log.last(t).record))
		}
		tk.unproduced.add(tk.misfits.take()...)
		tk.resend(time.Now())
		p = log.last(t)
		if o := outcomeIn(t, p.record); o.Outcome != events.OutcomeCompleted {
			t.Fatalf("refused %d times, it is %+v", n+1, o)
		}
	}
	p.promise(p.record, kerr.MessageTooLarge)
	if o := outcomeIn(t, log.last(t).record); o.Outcome != events.OutcomeFailed || o.Error.Type != events.ErrorResultTooLarge {
		t.Errorf("in the end it is %+v", o)
	}
}

// What a task says of its failure becomes part of the workflow's state: no text
// of it is without a bound.
func TestWhatIsSaidOfAFailureIsBounded(t *testing.T) {
	tk, log := without(t, 1)
	a := &Attempt{Workflow: "w", Spec: events.Task{Token: []byte("token of an attempt")}, pool: tk.pools[0]}
	long := strings.Repeat("é", 1<<20)
	a.life.begin(t.Context(), time.Time{})
	tk.conclude(a, nil, &TaskError{Type: long, Message: long, Details: []byte(`"` + long + `"`)})
	p := log.last(t)
	e := outcomeIn(t, p.record).Error
	if len(e.Type) > 512 || len(e.Message) > 9<<10 || len(e.Details) > 64<<10 {
		t.Errorf("a type of %d bytes, a message of %d and details of %d are reported", len(e.Type), len(e.Message), len(e.Details))
	}
	if !utf8.ValidString(e.Type) || !utf8.ValidString(e.Message) || !strings.HasPrefix(e.Type, "éé") || strings.ContainsRune(e.Type+e.Message, utf8.RuneError) {
		t.Errorf("it is cut within a rune: %q, %q", e.Type, e.Message)
	}
}

// A timeout that no duration can say is a very long one, not one in the past.
func TestALongTimeoutDoesNotOverflow(t *testing.T) {
	now := time.Now()
	for _, ms := range []int64{1, 1000, math.MaxInt64/1_000_000 - 1, math.MaxInt64 / 1_000_000, math.MaxInt64/1_000_000 + 1, 1 << 60, math.MaxInt64} {
		for _, deadline := range []int64{0, now.Add(time.Hour).UnixMilli(), math.MaxInt64} {
			a := &Attempt{Spec: events.Task{Timeout: ms, Deadline: deadline}}
			if at := a.deadline(now); !at.After(now) {
				t.Errorf("with a timeout of %d ms and the deadline %d it ends at %v", ms, deadline, at)
			}
		}
	}
}
