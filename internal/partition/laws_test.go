package partition

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

func TestEffectsWaitForTheirRecord(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	if len(m.journal) != 1 || len(m.produced) != 0 {
		t.Fatalf("before the acknowledgement: %s, want one record and no effect", m)
	}
	m.ack()
	if r := m.reply(0); r.Result != events.ResultDone || r.ID != "a" || r.Command != "start" {
		t.Errorf("reply is %+v", r)
	}
}

func TestTheLoopRunsAheadOfAcknowledgements(t *testing.T) {
	m := newModel(t, Settings{InflightRecords: 8})
	m.command("a", "w", "start", `{"definition":"counter"}`)
	for i := range 20 {
		m.command(string(rune('b'+i)), "w", "input", `{"input":1}`)
	}
	m.mustStep()
	if len(m.journal) != 8 {
		t.Fatalf("%d records are in flight, want the bound of 8", len(m.journal))
	}
	m.ack()
	if len(m.journal) > 8+8 {
		t.Errorf("%d records after 8 acknowledgements and unacknowledged effects", len(m.journal))
	}
}

func TestJ1AFailedAppendPoisonsWhatComesAfter(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.command("b", "w", "input", `{"input":1}`)
	m.mustStep()
	m.batch.Appended = []Appended{{Seq: 2, Err: kerr.OutOfOrderSequenceNumber}, {Seq: 3, Offset: 7}}
	err := m.step()
	var poison *PoisonedError
	if !errors.As(err, &poison) || poison.Position.Seq != 2 {
		t.Fatalf("got %v, want the first record poisoned", err)
	}
	if len(m.produced) != 0 || !m.stored.IsZero() {
		t.Errorf("after the poison %s were released and %v stored", m, m.stored)
	}
}

func TestJ2TimeNeverGoesBack(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	before := m.record(0).Time
	m.now = m.now.Add(-time.Hour)
	m.command("b", "w", "input", `{"input":1}`)
	m.mustStep()
	if got := m.record(1).Time; got < before {
		t.Errorf("record time went from %d to %d", before, got)
	}
}

func TestJ2AnOwnerBehindTheBrokersClockDoesNotDecide(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("a", "w", "start", `{"definition":"counter"}`).Timestamp = m.now.Add(time.Minute)
	var clock *ClockError
	if err := m.step(); !errors.As(err, &clock) || len(m.journal) != 0 {
		t.Errorf("got %v and %s", err, m)
	}
}

func TestJ3DroppedInputsCountOnceEverythingBeforeIsAcknowledged(t *testing.T) {
	m := newModel(t, Settings{})
	m.running("w")
	m.ack()
	m.command("x", "w", "input", `{"input":1}`)
	m.command("x", "w", "input", `{"input":1}`) // the same command again
	m.mustStep()
	if got := m.p.inputs[events.FromCommands].durable; got != 2 {
		t.Fatalf("the position is %d while a record is in flight, want 2", got)
	}
	m.ack()
	if got := m.p.inputs[events.FromCommands].durable; got != 4 {
		t.Errorf("the position is %d, want 4: behind the duplicate", got)
	}
	if got := m.p.inputs[events.FromCommands].row.Next; got != 3 {
		t.Errorf("the journal's position is %d, want 3", got)
	}
}

func TestJ3UndecodableInputIsRejectedWithItsBytesInTheDLQ(t *testing.T) {
	m := newModel(t, Settings{})
	raw := m.input(events.FromCommands, "w", "not json", kafka.Header("x", []byte("y")), kafka.Header(events.HeaderReplyTo, []byte("tester")), kafka.Header(events.HeaderReplyID, []byte("q")))
	m.input(events.FromInbox, "w", "\xff\xff")
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	m.ack()
	if got := m.names(0); got != "InputRejected " {
		t.Errorf("record 0 is %s", got)
	}
	letters := m.of(machine.DLQEffect)
	if len(letters) != 2 {
		t.Fatalf("%d dead letters, want 2", len(letters))
	}
	var l letter
	for _, d := range letters {
		if err := json.Unmarshal(d.Value, &l); err != nil {
			t.Fatal(err)
		}
		if l.Topic == raw.Topic {
			break
		}
	}
	if string(l.Value) != "not json" || string(l.Key) != "w" || l.Offset != raw.Offset || !strings.HasPrefix(l.Reason, "not_json") || len(l.Headers) != 3 {
		t.Errorf("the letter is %+v", l)
	}
	last := m.names(2)
	if last != "WorkflowStarted " {
		t.Errorf("the partition did not go on: %s", last)
	}
	for i := range m.of(machine.ReplyEffect) {
		if r := m.reply(i); r.ID == "q" && r.Refusal.Code != "not_json" {
			t.Errorf("the asker got %+v", r)
		}
	}
}

func TestJ3ForeignKeysAreForwardedOnceWithAnID(t *testing.T) {
	m := newModel(t, Settings{})
	m.p.Partitions = 2
	key := "k0"
	for i := 0; kafka.PartitionFor([]byte(key), 2) == 0; i++ {
		key = "k" + string(rune('0'+i))
	}
	m.input(events.FromCommands, key, `{"command":"pause"}`)
	m.mustStep()
	m.ack()
	if got := m.names(0); got != "InputForwarded " {
		t.Fatalf("record is %s", got)
	}
	out := m.of(machine.ForwardEffect)
	if len(out) != 1 || out[0].Key != key || out[0].Log != events.FromCommands {
		t.Fatalf("forwarded: %+v", out)
	}
	cmd, bad := events.ParseCommand([]byte(key), out[0].Headers, out[0].Value, "elsewhere")
	if bad != nil || cmd.ID != m.p.Names.Commands()+"/0/0" {
		t.Errorf("the forwarded command is %+v, %v; want its place as its id", cmd, bad)
	}
}

func TestJ4ADecisionThatFitsNoRecordIsRefused(t *testing.T) {
	m := newModel(t, Settings{RecordBytes: 300})
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.command("b", "w", "input", `{"input":"`+strings.Repeat("x", 400)+`"}`)
	m.mustStep()
	m.ack()
	if got := m.names(1); got != "CommandRefused " {
		t.Errorf("record is %s", got)
	}
	if r := m.reply(1); r.Refusal == nil || r.Refusal.Code != "too_large" {
		t.Errorf("reply is %+v", r)
	}
}

func TestJ4AnUndeliverableTaskIsLost(t *testing.T) {
	m := newModel(t, Settings{})
	task := m.running("w")
	m.batch.Produced = []Produced{{Out: task, Err: kerr.MessageTooLarge}}
	m.mustStep()
	if got := m.names(len(m.journal) - 1); got != "RunnableLost RunnableDispatched " {
		t.Errorf("record is %s", got)
	}
}

func TestJ4AnEffectRefusedForGoodBecomesAnInput(t *testing.T) {
	m := newModel(t, Settings{})
	task := m.running("w")
	m.outcome(task, "5")
	m.mustStep()
	m.ack()
	status := m.of(machine.StatusEffect)[0]
	if m.Get(status.row(), nil) == nil {
		t.Fatal("the effect has no outbox row")
	}
	m.batch.Produced = []Produced{{Out: status, Err: kerr.MessageTooLarge}}
	m.mustStep()
	m.ack()
	if got := m.names(len(m.journal) - 1); got != "EffectFailed " {
		t.Errorf("record is %s", got)
	}
	if m.Get(status.row(), nil) != nil {
		t.Error("the outbox keeps what will never be out")
	}
}

func TestJ5ATimeoutDoesNotOvertakeItsOutcome(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	task := m.running("timed")
	m.now = m.now.Add(2 * time.Minute)
	m.mustStep()
	if m.asked != 1 || len(m.journal) != 2 {
		t.Fatalf("the timeout fired before the inbox was read: %s", m)
	}
	m.outcome(task, "5") // in the log before the question, fetched with its answer
	m.ends()
	m.mustStep()
	m.ack()
	m.now = m.now.Add(time.Second)
	m.mustStep()
	if got := m.sum("timed"); got != 5 {
		t.Errorf("sum is %d, want the outcome's 5", got)
	}
}

func TestJ5ATimeoutFiresOnceTheInputsAreRead(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	m.running("timed")
	m.now = m.now.Add(2 * time.Minute)
	m.mustStep()
	m.ends()
	m.mustStep()
	m.ack()
	if got := m.sum("timed"); got != -1_000_000 {
		t.Errorf("sum is %d, want the timeout's mark", got)
	}
}

func TestJ6ADefectIsContained(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("a", "cursed", "start", `{"definition":"counter"}`)
	m.command("b", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	m.ack()
	if got := m.names(0); got != "WorkflowQuarantined " {
		t.Errorf("record is %s", got)
	}
	if got := m.names(1); got != "WorkflowStarted " {
		t.Errorf("the partition did not go on: %s", got)
	}
	if n := len(m.of(machine.DLQEffect)); n != 1 {
		t.Errorf("%d dead letters, want the input", n)
	}
	if r := m.reply(0); r.Refusal == nil || r.Refusal.Code != "quarantined" {
		t.Errorf("the asker got %+v", r)
	}
}

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
	row, ok := m.memory.Get(reply.row(), nil).(*outboxRow)
	if !ok {
		t.Fatal("a released reply has no outbox row")
	}
	if again := outgoing(reply.row(), row); again.Key != reply.Key || string(again.Value) != string(reply.Value) || again.Kind != reply.Kind {
		t.Errorf("released again it is %+v, was %+v", again, reply)
	}
	m.delivered()
	m.mustStep()
	m.command("b", "w", "input", `{"input":1}`)
	m.mustStep()
	m.ack()
	if m.memory.Get(reply.row(), nil) != nil {
		t.Error("an acknowledged effect is still in the outbox")
	}
}

func TestE3ASilentTakerLosesItsAttempt(t *testing.T) {
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
	tasks := m.of(machine.TaskEffect)
	if len(tasks) != 2 || string(tasks[0].Value) != string(tasks[1].Value) {
		t.Errorf("%d task records, want the same one again", len(tasks))
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

func TestO5ALateRenewalDoesNotCount(t *testing.T) {
	m := newModel(t, Settings{Lease: 10 * time.Second})
	m.now = m.now.Add(11 * time.Second)
	m.batch.Renewed = []Renewed{{Until: m.now.Add(10 * time.Second).UnixMilli()}}
	if err := m.step(); !errors.Is(err, errExpired) {
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
	if len(m.journal) != n || m.p.inputs[events.FromCommands].next != 2 {
		t.Errorf("the rewound input was decided twice: %s", m)
	}
}

func TestAnOperatorMayReleaseThePartition(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("r", "_partition/0", "force_release", `{"by":"ann"}`)
	m.mustStep()
	m.ack()
	if got := m.names(0); got != "AuthorityReleased " {
		t.Errorf("record is %s", got)
	}
	m.p.checkLease()
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

func TestAU08MarkedStaleKeepsTheRenewedLease(t *testing.T) {
	m := newModel(t, Settings{Lease: 10 * time.Second})
	m.now = m.now.Add(5 * time.Second)
	until := m.now.Add(10 * time.Second).UnixMilli()
	m.batch.Renewed = []Renewed{{Until: until}}
	m.mustStep()
	m.command("s", "_partition/0", "mark_stale", `{"reason":"odd","by":"ann"}`)
	m.mustStep()
	m.ack()
	if l := m.p.lease; !l.Stale || l.StaleReason != "odd" || l.LeasedUntil != until {
		t.Errorf("the lease is %+v", l)
	}
	m.batch.Renewed = []Renewed{{Until: until + 1}}
	m.mustStep()
	if m.p.lease.Stale {
		t.Error("a renewal does not clear stale (AU12)")
	}
}
