package loop

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

func TestARepeatedCommandGetsTheFirstAnswer(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.command("b", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	m.ack()
	if len(m.journal) != 2 {
		t.Fatalf("%s, want no record of the repetition", m)
	}
	if first, again := m.reply(0), m.reply(1); again.Result != first.Result || again.ID != "a" || again.Refusal != nil {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if r := m.reply(2); r.Refusal == nil || r.Refusal.Code != "already_started" {
		t.Errorf("another command got %+v", r)
	}
}

func TestOtherContentUnderAUsedIDIsAConflict(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.command("a", "w", "start", `{"definition":"other"}`)
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	m.ack()
	if r := m.reply(1); r.Refusal == nil || r.Refusal.Code != "conflict" {
		t.Errorf("other content got %+v", r)
	}
	if r := m.reply(2); r.Refusal != nil {
		t.Errorf("the conflict took the first answer's place: %+v", r)
	}
}

func TestTheLedgerForgetsBehindItsWindow(t *testing.T) {
	m := newModel(t, Settings{Window: time.Minute, Lease: 24 * time.Hour})
	m.command("old", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	m.ack()
	m.now = m.now.Add(time.Hour)
	for i := range 2 * expireEvery {
		m.command(strings.Repeat("i", i+1), "w", "input", `{"input":1}`)
	}
	m.mustStep()
	m.delivered()
	m.ack()
	if m.Get(ledgerKey("w", "\x00old"), nil) != nil {
		t.Error("an entry older than the window is kept")
	}
	if m.Get(ledgerKey("w", "\x00i"), nil) == nil {
		t.Error("a fresh entry is gone")
	}
	m.command("old", "w", "start", `{"definition":"counter"}`).Timestamp = m.now.Add(-time.Hour)
	m.mustStep()
	m.ack()
	refused, ok := m.record(len(m.journal) - 1).Events[0].(*events.CommandRefused)
	if !ok || refused.Code != "expired" {
		t.Errorf("a rewound input behind the window became %s", m.names(len(m.journal)-1))
	}
}

func TestE1TheOutboxHoldsWhatIsNotKnownToBeOut(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	m.ack()
	reply := m.of(machine.ReplyEffect)[0]
	m.p.Write()
	row, ok := m.memory.Get(reply.Row(), nil).(*outboxRow)
	if !ok {
		t.Fatal("a released reply has no outbox row")
	}
	if again := outgoing(reply.Row(), row); again.Key != reply.Key || string(again.Value) != string(reply.Value) || again.Kind != reply.Kind {
		t.Errorf("released again it is %+v, was %+v", again, reply)
	}
	m.delivered()
	m.mustStep()
	m.p.Write()
	if m.memory.Get(reply.Row(), nil) != nil {
		t.Error("an acknowledged effect is still in the outbox")
	}
}

func TestE1WhatIsOutBeforeTheStoreIsWrittenNeedsNoOutbox(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	m.ack()
	m.delivered()
	m.mustStep()
	if !m.stored.IsZero() {
		t.Fatal("the store was written at once")
	}
	m.now = m.now.Add(m.p.Settings.WriteDelay)
	m.mustStep()
	if m.stored.Position.Seq != 2 {
		t.Errorf("the store is at %v after the delay, want the record", m.stored.Position)
	}
	if m.memory.Get(m.of(machine.ReplyEffect)[0].Row(), nil) != nil {
		t.Error("an effect that was out has an outbox row")
	}
}

func TestE3ASilentWorkerLosesItsAttempt(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	task := m.running("w")
	m.report(task, func(token []byte) events.InboxMessage { return &events.TaskNotified{Token: token, Channel: "x"} })
	m.mustStep()
	m.ack()
	n := len(m.journal)
	for range 3 { // it is heard of
		m.now = m.now.Add(10 * time.Second)
		m.report(task, func(token []byte) events.InboxMessage { return &events.TaskHeartbeat{Token: token} })
		m.mustStep()
	}
	if len(m.journal) != n {
		t.Fatalf("an attempt with heartbeats changed: %s", m.names(n))
	}
	m.now = m.now.Add(16 * time.Second)
	m.mustStep()
	if len(m.journal) != n || m.asked == 0 {
		t.Fatal("the attempt was lost before the inbox was read to an end seen after its silence")
	}
	m.ends()
	m.mustStep()
	m.now = m.now.Add(time.Second)
	m.mustStep()
	if got := m.names(n); got != "RunnableLost RunnableDispatched " {
		t.Errorf("record is %s", got)
	}
}

func TestE3APassedTaskIsPublishedAgainWithTheSameToken(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	task := m.running("w")
	m.batch.Produced = []Produced{{Out: task, Partition: 0, Offset: 5}}
	m.mustStep()
	m.now = m.now.Add(31 * time.Second)
	m.mustStep()
	if len(m.queues) != 1 || m.queues[0] != "default" {
		t.Fatalf("asked about %v, want the queue of the pending attempt", m.queues)
	}
	m.batch.Queues = []QueueOffsets{{Queue: "default", Partitions: []QueuePartition{{Start: 0, End: 9, Committed: 5}}}}
	m.mustStep()
	if n := len(m.of(machine.TaskEffect)); n != 1 {
		t.Fatalf("a task that is still to be taken was published %d times", n)
	}
	m.now = m.now.Add(31 * time.Second)
	m.mustStep()
	m.batch.Queues = []QueueOffsets{{Queue: "default", Partitions: []QueuePartition{{Start: 0, End: 9, Committed: 6}}}}
	m.mustStep()
	m.inboxRead()
	tasks := m.of(machine.TaskEffect)
	if len(tasks) != 2 || string(tasks[0].Value) != string(tasks[1].Value) {
		t.Errorf("%d task records, want the same one again", len(tasks))
	}
}

// The record of an async task may be known before its journal record is, and may be
// known to be written without a place.
func TestE3APendingAttemptIsLookedAfterWhateverIsKnownOfItsRecord(t *testing.T) {
	for name, offset := range map[string]int64{"before the journal": 5, "without a place": -1} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, Settings{Lease: time.Hour})
			m.p.Machine.(*looptest.Counter).Early = true
			m.command("start", "w", "start", `{"definition":"counter"}`)
			m.command("input", "w", "input", `{"input":1}`)
			m.mustStep()
			tasks := m.of(machine.TaskEffect)
			if len(tasks) != 1 || len(m.journal) != 2 {
				t.Fatalf("%s, want one task with the append", m)
			}
			m.batch.Produced = []Produced{{Out: tasks[0], Partition: 0, Offset: offset}}
			m.mustStep()
			m.ack()
			m.now = m.now.Add(31 * time.Second)
			m.mustStep()
			if len(m.queues) != 1 {
				t.Fatalf("asked about %v, want the queue of the pending attempt", m.queues)
			}
			m.batch.Queues = []QueueOffsets{{Queue: "default", Partitions: []QueuePartition{{Start: 0, End: 9, Committed: 6}}}}
			m.mustStep()
			m.inboxRead()
			if n := len(m.of(machine.TaskEffect)); n != 2 {
				t.Errorf("a task that was passed was published %d times", n)
			}
		})
	}
}

func TestE5NothingIsReleasedAtTheMarginOfTheLease(t *testing.T) {
	m := newModel(t, Settings{Lease: 10 * time.Second, Margin: 2 * time.Second})
	m.now = m.now.Add(9 * time.Second)
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	m.ack()
	if len(m.produced) != 0 {
		t.Fatalf("released at the margin: %s", m)
	}
	m.batch.Renewed = []Renewed{{Until: m.now.Add(10 * time.Second).UnixMilli()}}
	m.mustStep()
	if len(m.produced) != 1 {
		t.Errorf("after the renewal: %s", m)
	}
}

func TestE5ARenewalWithoutItsMarginReleasesNothing(t *testing.T) {
	m := newModel(t, Settings{Lease: 10 * time.Second, Margin: 2 * time.Second})
	m.now = m.now.Add(9 * time.Second)
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	m.ack()
	m.batch.Renewed = []Renewed{{Until: m.now.Add(2 * time.Second).UnixMilli()}} // its commit took long
	m.mustStep()
	if len(m.produced) != 0 {
		t.Fatalf("released at the margin: %s", m)
	}
	m.batch.Renewed = []Renewed{{Until: m.now.Add(10 * time.Second).UnixMilli()}}
	m.mustStep()
	if len(m.produced) != 1 {
		t.Errorf("after the next renewal: %s", m)
	}
}

func TestO5ALateRenewalDoesNotCount(t *testing.T) {
	m := newModel(t, Settings{Lease: 10 * time.Second})
	m.now = m.now.Add(11 * time.Second)
	m.batch.Renewed = []Renewed{{Until: m.now.Add(10 * time.Second).UnixMilli()}}
	if err := m.step(); !errors.Is(err, ErrExpired) {
		t.Errorf("got %v, want the lease to be over", err)
	}
}

func TestE6AQueryWaitsForWhatWasThereWhenItWasAsked(t *testing.T) {
	m := newModel(t, Settings{})
	m.running("w")
	m.batch.Queries = []*events.Query{{Workflow: "w", ReplyTo: events.ReplyTo{Address: "tester", ID: "q"}}}
	m.mustStep()
	n := len(m.of(machine.ReplyEffect))
	m.command("late", "w", "input", `{"input":1}`)
	late := m.batch.Inputs[events.FromCommands]
	m.batch.Inputs[events.FromCommands] = nil // in the log, not fetched yet
	m.ends()
	m.mustStep()
	if got := len(m.of(machine.ReplyEffect)); got != n {
		t.Fatal("the query was answered before commands were read to their end")
	}
	m.batch.Inputs[events.FromCommands] = late
	m.mustStep()
	if got := len(m.of(machine.ReplyEffect)); got != n {
		t.Fatal("the answer left before the record before it was acknowledged")
	}
	m.ack()
	r := m.reply(len(m.of(machine.ReplyEffect)) - 1)
	if r.ID != "q" || string(r.Body) != `{"sum":0,"open":2}` {
		t.Errorf("the answer is %+v %s", r, r.Body)
	}
}

// An input log that ends below where it was read is another one: deleted and made
// anew, or cut. How far that one is read nobody knows, and so nobody is answered, nor
// does a timer fire, before that is found out.
func TestE6ALogThatEndsBelowItsPositionAnswersNobody(t *testing.T) {
	for _, s := range Inputs {
		m := newModel(t, Settings{})
		task := m.running("w")
		m.outcome(task, "1")
		m.mustStep()
		m.ack()
		m.batch.Queries = []*events.Query{{Workflow: "w", ReplyTo: events.ReplyTo{Address: "tester", ID: "q"}}}
		m.mustStep()
		n := len(m.produced)
		m.offsets[s]--
		m.ends()
		var broken *BrokenLogError
		if err := m.step(); !errors.As(err, &broken) || broken.Source != s {
			t.Errorf("%s: %v, want the log to be broken", s, err)
		}
		if len(m.produced) != n {
			t.Errorf("%s: %d effects left", s, len(m.produced)-n)
		}
	}
}

func TestExpiredQueriesAreDropped(t *testing.T) {
	m := newModel(t, Settings{})
	m.batch.Queries = []*events.Query{{Workflow: "w", Deadline: m.now.UnixMilli() - 1}}
	m.mustStep()
	if m.asked != 0 || m.p.Stats.Expired.Load() != 1 {
		t.Error("a query that nobody waits for was asked about")
	}
}

func TestAnOperatorMayRewindAnInput(t *testing.T) {
	m := newModel(t, Settings{})
	m.running("w")
	m.command("r", "_partition/0", "request_replay", `{"cursor":"commands@1","by":"ann","why":"test"}`)
	m.mustStep()
	m.ack()
	if at, ok := m.sought[events.FromCommands]; !ok || at != 1 {
		t.Fatalf("sought %v, want commands at 1", m.sought)
	}
	e := m.record(len(m.journal) - 1).Events[0].(*events.ReplayRequested)
	if e.Cursor != "commands@1" || e.By.Who != "ann" {
		t.Errorf("recorded %+v", e)
	}
	n := len(m.journal)
	stale := m.command("stale", "w", "input", `{"input":1}`) // fetched before the seek
	stale.Offset = 3
	m.mustStep()
	if len(m.journal) != n {
		t.Fatal("a record fetched before the seek was decided")
	}
	m.offsets[events.FromCommands] = 1
	m.batch.Inputs[events.FromCommands] = append(m.batch.Inputs[events.FromCommands], soughtAt(1))
	m.command("input-w", "w", "input", `{"input":1}`)
	m.mustStep()
	m.ack()
	if len(m.journal) != n || m.p.inputs[events.FromCommands].Next != 2 {
		t.Errorf("the rewound input was decided twice: %s", m)
	}
}

func TestAnOperatorMayReleaseThePartition(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("r", "_partition/0", "force_release", `{"by":"ann","why":"test"}`)
	m.mustStep()
	m.ack()
	if got := m.names(0); got != "AuthorityReleased " {
		t.Errorf("record is %s", got)
	}
	m.p.CheckLease()
	if err := m.step(); !errors.Is(err, errDismissed) {
		t.Errorf("the owner goes on: %v", err)
	}
}

func TestCommandsToAnotherPartitionItselfAreNotForwarded(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("r", "_partition/3", "checkpoint", `{}`)
	m.mustStep()
	m.ack()
	e, ok := m.record(0).Events[0].(*events.InputRejected)
	if !ok || !strings.HasPrefix(e.Reason, "wrong_partition") {
		t.Errorf("record is %s", m.names(0))
	}
}
