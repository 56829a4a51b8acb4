package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/history"
	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
)

const created = 1_700_000_000_000

// write appends records to partition 0 of the journal.
func write(t *testing.T, c *brokertest.Cluster, list ...*events.Record) {
	t.Helper()
	cl, err := kafka.NewJournalProducer(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, rec := range list {
		if err := cl.ProduceSync(t.Context(), journal.Encode(rec, c.Topics.Names, 0)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func record(epoch, seq uint64, workflow string, list ...events.Event) *events.Record {
	return &events.Record{
		Position: events.Position{Epoch: epoch, Seq: seq}, Workflow: workflow, Time: created + int64(seq), Events: list,
	}
}

func takeover(epoch uint64) *events.Record {
	r := record(epoch, 1, "", &events.AuthorityAcquired{Owner: fmt.Sprintf("w%d", epoch), LeaseID: "l", LeasedUntil: created})
	r.Replaces = epoch - 1
	return r
}

// journalOfTwoTenures holds workflow w among others, and records of a deposed owner.
func journalOfTwoTenures(t *testing.T) (*brokertest.Cluster, history.Run) {
	c := brokertest.Start(t, topics.Options{})
	write(t, c,
		takeover(1),
		record(1, 2, "other", &events.WorkflowStarted{Name: "x"}),
		record(1, 3, "w", &events.WorkflowStarted{Name: "x"}, &events.InputAccepted{Fact: 1, Value: json.RawMessage(`5`)}),
		record(1, 4, "w", &events.RunnableReady{Runnable: 1, Component: 1, Scope: 1}, &events.RunnableDispatched{Runnable: 1, Attempt: 1}),
		takeover(2),
		record(1, 5, "w", &events.WorkflowPaused{}), // void: its owner was deposed
		record(2, 2, "w", &events.RunnableCompleted{Runnable: 1, Fact: 2, Value: json.RawMessage(`{"a": 1}`)}),
		record(2, 3, "other", &events.WorkflowIdle{}),
		record(2, 4, "w", &events.WorkflowIdle{}),
	)
	run := history.Run{Workflow: "w", Start: events.Position{Epoch: 1, Seq: 3}, Created: time.UnixMilli(created + 3)}
	return c, run
}

func collect(t *testing.T, c *brokertest.Cluster, run history.Run, from history.Cursor, until events.Position) ([]string, []history.Item) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var types []string
	var items []history.Item
	err := history.Read(ctx, c.Config, run, from, until, func(i history.Item) bool {
		types, items = append(types, events.Name(i.Event)), append(items, i)
		return true
	})
	if err != nil {
		t.Fatalf("from %s: %v", from, err)
	}
	return types, items
}

func TestHistoryPassesOverVoidRecordsAndOtherWorkflows(t *testing.T) {
	c, run := journalOfTwoTenures(t)
	all, items := collect(t, c, run, history.Cursor{}, events.Position{Epoch: 2, Seq: 4})
	want := []string{"WorkflowStarted", "InputAccepted", "RunnableReady", "RunnableDispatched", "RunnableCompleted", "WorkflowIdle"}
	if !slices.Equal(all, want) {
		t.Fatalf("got %q, want %q", all, want)
	}
	for i, item := range items { // every place can be resumed from
		from, err := history.ParseCursor(item.Cursor.String())
		if err != nil || from != item.Cursor {
			t.Fatalf("cursor %s comes back as %v, %v", item.Cursor, from, err)
		}
		rest, _ := collect(t, c, run, from, events.Position{Epoch: 2, Seq: 4})
		if !slices.Equal(rest, want[i+1:]) {
			t.Fatalf("behind %s: got %q, want %q", item.Cursor, rest, want[i+1:])
		}
	}
}

// However often a client is refused, a history grows by a few lines, wherever it is
// read from, and has the last refusal.
func TestInputsWithoutEffectAreCountedBehindTheFirst(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	const many = 1000
	list := []*events.Record{takeover(1), record(1, 2, "w", &events.WorkflowStarted{Name: "x"})}
	for seq := uint64(3); seq < many+3; seq++ {
		switch seq % 3 {
		case 0:
			list = append(list, record(1, seq, "w", &events.CommandRefused{Command: "skip", Code: fmt.Sprintf("n%d", seq-2)}))
		case 1:
			list = append(list, record(1, seq, "w", &events.CommandIgnored{Command: "pause"}))
		default:
			list = append(list, record(1, seq, "w", &events.InputRejected{Reason: "not_json"}))
		}
	}
	end := events.Position{Epoch: 1, Seq: many + 3}
	list = append(list, record(1, end.Seq, "w", &events.WorkflowIdle{}))
	write(t, c, list...)
	run := history.Run{Workflow: "w", Start: events.Position{Epoch: 1, Seq: 2}, Created: time.UnixMilli(created + 2)}

	want := []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, many, 0}
	for _, limit := range []int{100, 1, 5, 13} {
		var got []uint64
		var cursor string
		for {
			from, err := history.ParseCursor(cursor)
			if err != nil {
				t.Fatal(err)
			}
			page, err := history.ReadPage(t.Context(), c.Config, run, history.NewNames(nil), from, end, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range page.Items {
				var e struct {
					WithoutEffect uint64 `json:"without_effect"`
				}
				if err := json.Unmarshal(item, &e); err != nil {
					t.Fatal(err)
				}
				got = append(got, e.WithoutEffect)
			}
			if page.Next == nil {
				break
			}
			cursor = *page.Next
		}
		if !slices.Equal(got, want) {
			t.Errorf("by %d: listed are the inputs %d, want %d", limit, got, want)
		}
	}
	_, items := collect(t, c, run, history.Cursor{}, end)
	if len(items) != len(want)-1 {
		t.Errorf("a follower is told %d events, want %d: all but the last refusal", len(items), len(want)-1)
	}
}

func TestHistoryWithoutEndFollowsWhatIsAppended(t *testing.T) {
	c, run := journalOfTwoTenures(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var last string
	err := history.Read(ctx, c.Config, run, history.Cursor{}, events.Position{}, func(i history.Item) bool {
		last = events.Name(i.Event)
		if last == "WorkflowIdle" {
			write(t, c, record(2, 5, "w", &events.WorkflowCancelled{}))
		}
		return last != "WorkflowCancelled"
	})
	if err != nil || last != "WorkflowCancelled" {
		t.Fatalf("last is %s, %v", last, err)
	}
}

func TestHistoryThatRetentionHasTakenIsGone(t *testing.T) {
	c, run := journalOfTwoTenures(t)
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: c.Topics.Journal(), Partition: 0, At: 4})
	if _, err := kadm.NewClient(c.Admin(t)).DeleteRecords(t.Context(), offsets); err != nil {
		t.Fatal(err)
	}
	err := history.Read(t.Context(), c.Config, run, history.Cursor{}, events.Position{Epoch: 2, Seq: 4}, func(history.Item) bool { return true })
	if !errors.Is(err, history.ErrGone) {
		t.Fatalf("got %v, want ErrGone", err)
	}
}

func TestEventsArePrintedWithNames(t *testing.T) {
	n := history.NewNames([]string{"a", "b"})
	at := events.Position{Epoch: 1, Seq: 4}
	for _, test := range []struct {
		event events.Event
		want  string
	}{
		{&events.RunnableReady{Runnable: 7, Component: 1, Scope: 1, Parents: []events.FactID{1, 0}, Policy: []byte{1}},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"RunnableReady","runnable":"r7","component":"b","scope":"f1","parents":["f1",null]}`},
		{&events.RetryScheduled{Runnable: 7, Due: created + 1500},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"RetryScheduled","runnable":"r7","component":"b","due":"2023-11-14T22:13:21.500Z"}`},
		{&events.BranchNotTaken{Component: 0, Scope: 1},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"BranchNotTaken","component":"a","scope":"f1"}`},
		{&events.RunnableFailed{Runnable: 9, Error: events.TaskError{Type: "t", Message: "m"}, Action: events.ActionHalt},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"RunnableFailed","runnable":"r9","error":{"type":"t","message":"m"},"action":"halt"}`},
		{&events.RunnableDispatched{Runnable: 9, Attempt: 2, Queue: "q", For: events.ForProbe},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"RunnableDispatched","runnable":"r9","attempt":2,"queue":"q","for":"probe"}`},
		{&events.FallbackApplied{Runnable: 9, Form: 4, Error: events.TaskError{Type: "t", Message: "m"}},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"FallbackApplied","runnable":"r9","form":"retry_with","error":{"type":"t","message":"m"}}`},
		{&events.ProbeAnswered{Runnable: 9, Answer: events.AnswerNotDone},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"ProbeAnswered","runnable":"r9","answer":"not_done"}`},
		{&events.ListTaken{Runnable: 9, Elements: []events.Element{{Value: json.RawMessage(`5`)}}},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"ListTaken","runnable":"r9","elements":[{"value":5}]}`},
		{&events.SignalReceived{Signal: 1, Name: "go", Expires: created + 1500},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"SignalReceived","signal":1,"name":"go","expires":"2023-11-14T22:13:21.500Z"}`},
		{&events.SilenceAwaited{Runnable: 9, For: 300, Due: created + 300},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"SilenceAwaited","runnable":"r9","for_ms":300,"due":"2023-11-14T22:13:20.300Z"}`},
		{&events.PermitAsked{Runnable: 9, Key: "key:rate/k", Rank: 2, Limit: events.KeyLimit{Limit: 5, Per: 1000}, First: at},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"PermitAsked","runnable":"r9","key":"key:rate/k","rank":2,"limit":{"limit":5,"per_ms":1000},"first":"1.4"}`},
		{&events.PermitsReturned{Permits: []events.ReturnedPermit{{Key: "key:concurrency/k", Runnable: 9, Asked: at}, {}}},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"PermitsReturned","permits":[{"key":"key:concurrency/k","runnable":"r9","asked":"1.4"},{}]}`},
		{&events.WorkflowMigrated{Newest: []events.NewestFact{{Component: 1, Fact: 3}}},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"WorkflowMigrated","newest":[{"component":"b","fact":"f3"}]}`},
		{&events.WorkInHand{Added: []events.Work{{Component: 2, Fact: 3}, {Retry: &events.RetryWork{Through: 7}}}},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"WorkInHand","added":[{"component":"b","fact":"f3"},{"retry":{"through":"r7"}}]}`},
		{&events.WorkflowPaused{By: events.By{Who: "ann", Why: "lunch"}},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"WorkflowPaused","by":"ann","why":"lunch"}`},
		{&events.WorkflowDeleted{By: events.By{Who: "ann"}, Told: []events.ReplyTo{{Address: "x", ID: "q"}}},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"WorkflowDeleted","by":"ann"}`},
		{&events.InputAccepted{Fact: 1, Value: json.RawMessage(`{"z": [1.50]}`)},
			`{"position":"1.4","time":"2023-11-14T22:13:20.000Z","type":"InputAccepted","fact":"f1","value":{"z": [1.50]}}`},
	} {
		if got := string(n.Print(history.Item{Cursor: history.Cursor{Position: at}, Time: created, Event: test.event})); got != test.want {
			t.Errorf("got\n%s, want\n%s", got, test.want)
		}
	}
}
