package workload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// breakerRecords are records of a breaker that two failures in a row open for a second; time goes on by one in each.
func breakerRecords(list ...[]events.Event) [][]*events.Record {
	asking := []*events.Record{}
	for n := range uint64(4) {
		id := events.RunnableID(n + 1)
		asking = append(asking, &events.Record{Position: events.Position{Epoch: 1, Seq: n + 1}, Workflow: "w", Events: []events.Event{
			&events.PermitAsked{Runnable: id, Key: events.KeyOf(events.BreakerKey, "b")},
		}})
	}
	for n := range uint64(4) { // each may have failed, or succeeded
		asking = append(asking, back(n+1, events.VerdictFailed, &events.RunnableFailed{Runnable: events.RunnableID(n + 1)}),
			back(n+1, events.VerdictSucceeded, &events.RunnableCompleted{Runnable: events.RunnableID(n + 1)}))
	}
	var granting []*events.Record
	for i, all := range list {
		granting = append(granting, &events.Record{
			Position: events.Position{Epoch: 1, Seq: uint64(i + 1)}, Workflow: events.KeyOf(events.BreakerKey, "b"), Time: int64(i + 1), Events: all,
		})
	}
	return [][]*events.Record{asking, granting}
}

func back(n uint64, verdict events.Verdict, end events.Event) *events.Record {
	return &events.Record{Workflow: "w", Events: []events.Event{end, &events.PermitsReturned{Permits: []events.ReturnedPermit{
		{Key: events.KeyOf(events.BreakerKey, "b"), Runnable: events.RunnableID(n), Asked: asks(n).Asked, Verdict: verdict},
	}}}}
}

func asks(n uint64) events.PermitID {
	return events.PermitID{Workflow: "w", Runnable: events.RunnableID(n), Asked: events.Position{Epoch: 1, Seq: n}}
}

func begins(n uint64) []events.Event {
	return []events.Event{&events.PermitQueued{Number: n, Permit: asks(n), Limit: events.KeyLimit{Limit: 2, Per: 3}}, &events.PermitIssued{Number: n, Permit: asks(n)}}
}

func ends(n uint64, verdict events.Verdict, then ...events.Event) []events.Event {
	return append([]events.Event{&events.PermitOver{Number: n, Permit: asks(n), Verdict: verdict}}, then...)
}

func TestWhatABreakerMustNotDoIsNoticed(t *testing.T) {
	const failed, succeeded = events.VerdictFailed, events.VerdictSucceeded
	opens := func(until int64) events.Event {
		return &events.BreakerTurned{To: events.BreakerOpen, Failures: 2, Until: until}
	}
	tries, closes := &events.BreakerTurned{To: events.BreakerHalfOpen}, &events.BreakerTurned{To: events.BreakerClosed}
	denied := &events.PermitDenied{Permit: asks(4), Limit: events.KeyLimit{Limit: 2, Per: 3, Fails: true}}
	for _, c := range []struct {
		name string
		list [][]events.Event
		want string
	}{
		{"one that opens, tries and closes", [][]events.Event{begins(1), begins(2), ends(1, failed), ends(2, failed, opens(7)), {denied}, {}, {tries}, begins(3), ends(3, succeeded, closes)}, ""},
		{"one that opens too early", [][]events.Event{begins(1), ends(1, failed, opens(5))}, "with 1 failures in a row of 2"},
		{"one that does not open", [][]events.Event{begins(1), begins(2), ends(1, failed), ends(2, failed)}, "it does not open"},
		{"a success between", [][]events.Event{begins(1), begins(2), begins(3), ends(1, failed), ends(2, succeeded), ends(3, failed, opens(9))}, "with 1 failures in a row of 2"},
		{"a grant while it is open", [][]events.Event{begins(1), begins(2), ends(1, failed), ends(2, failed, opens(7)), begins(3)}, "while it is open"},
		{"one that tries too early", [][]events.Event{begins(1), begins(2), ends(1, failed), ends(2, failed, opens(7)), {tries}}, "until 7"},
		{"two probes", [][]events.Event{begins(1), begins(2), ends(1, failed), ends(2, failed, opens(7)), {}, {}, {tries}, begins(3), begins(4)}, "while it is half_open"},
		{"one that stays half open", [][]events.Event{begins(1), begins(2), ends(1, failed), ends(2, failed, opens(7)), {}, {}, {tries}, begins(3), ends(3, failed)}, "it stays half open"},
		{"a return that counts twice", [][]events.Event{begins(1), ends(1, failed), ends(1, failed, opens(6))}, "which holds nothing"},
		{"a verdict that nobody said", [][]events.Event{begins(1), ends(1, 7)}, "which its workflow has not said"},
		{"one that is denied by a closed breaker", [][]events.Event{{denied}}, "while it is closed"},
		{"one that closes by itself", [][]events.Event{begins(1), begins(2), ends(1, failed), ends(2, failed, opens(7)), {closes}}, "it turns to closed"},
		{"an open one that is forgotten", [][]events.Event{begins(1), begins(2), ends(1, failed), ends(2, failed, opens(7), &events.KeySwept{Gone: true})}, "it is forgotten"},
		{"one that is open for too long", [][]events.Event{begins(1), begins(2), ends(1, failed), ends(2, failed, opens(8))}, "it is open until 8"},
	} {
		err := CheckKeys(breakerRecords(c.list...), false)
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func TestAVerdictIsThatOfTheAttempt(t *testing.T) {
	journals := breakerRecords(begins(1), ends(1, events.VerdictFailed))
	journals[0] = append(journals[0], back(1, events.VerdictSucceeded, &events.RunnableFailed{Runnable: 1}))
	if got := fmt.Sprint(CheckKeys(journals, false)); !strings.Contains(got, "says 1 of the attempt of r1@1.1/w, which has come to 2") {
		t.Error(got)
	}
	journals = breakerRecords()
	journals[0] = append(journals[0][:4], &events.Record{Workflow: "w", Events: []events.Event{&events.AttemptDenied{Runnable: 2, Key: events.KeyOf(events.BreakerKey, "b")}}})
	if got := fmt.Sprint(CheckKeys(journals, false)); !strings.Contains(got, "no breaker has denied r2@1.2/w") {
		t.Error(got)
	}
}
