package loop

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
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

// A journal record that is acknowledged without its offset, as one that was sent
// twice is, counts: it lies behind its predecessor, wherever. A mark never says more
// than is known, nor less than before; the next offset that is known sets it right.
func TestAnAcknowledgementWithoutAnOffsetCounts(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("a", "w", "start", `{"definition":"counter"}`)
	for _, id := range []string{"b", "c", "d"} {
		m.command(id, "w", "input", `{"input":1}`)
	}
	m.mustStep()
	if len(m.journal) != 4 {
		t.Fatalf("%s, want 4 records", m)
	}
	for _, ack := range []struct {
		told, mark int64
		replies    int
	}{{11, 11, 1}, {-1, 12, 2}, {-1, 13, 3}, {29, 29, 4}} {
		m.batch.Appended = []Appended{{Seq: m.seqOf(m.acked), Offset: ack.told}}
		m.acked++
		m.mustStep()
		if m.p.landed.Offset != ack.mark || len(m.of(machine.ReplyEffect)) != ack.replies {
			t.Errorf("acknowledged at %d: the mark is at %d, want %d; %d replies, want %d", ack.told, m.p.landed.Offset, ack.mark, len(m.of(machine.ReplyEffect)), ack.replies)
		}
	}
}

// The same for several acknowledgements at once, in the first place of the queue
// too, and for one that comes twice before it is heeded, or after: nothing is released twice, and
// the tenure goes on.
func TestADoubledAcknowledgementReleasesOnce(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.command("b", "w", "input", `{"input":1}`)
	m.command("c", "w", "input", `{"input":1}`)
	m.mustStep()
	first, second := m.seqOf(0), m.seqOf(1)
	m.batch.Appended = []Appended{{Seq: first, Offset: -1}, {Seq: second, Offset: 8}, {Seq: first, Offset: -1}, {Seq: second, Offset: -1}}
	m.acked = 2
	m.mustStep()
	if n := len(m.of(machine.ReplyEffect)); n != 2 {
		t.Errorf("%d replies were released, want 2", n)
	}
	m.batch.Appended = []Appended{{Seq: first, Offset: 7}, {Seq: second, Offset: -1}}
	m.mustStep()
	if n, at := len(m.of(machine.ReplyEffect)), m.p.landed.Offset; n != 2 || at != 8 {
		t.Errorf("%d replies were released and the mark is at %d, want 2 and 8", n, at)
	}
	m.batch.Appended = []Appended{{Seq: first + 7}}
	if err := m.step(); err == nil {
		t.Error("an acknowledgement of what was never appended is taken")
	}
}

// A record that is acknowledged no further on than its predecessor says that the
// journal has lost what was behind: nothing more is released, whatever comes.
func TestJ1AcknowledgementsThatDoNotAscendEndTheTenure(t *testing.T) {
	for _, offsets := range [][]int64{{7, 7}, {7, 3}, {-1, 0}} {
		m := newModel(t, Settings{})
		m.command("a", "w", "start", `{"definition":"counter"}`)
		m.command("b", "w", "input", `{"input":1}`)
		m.command("c", "w", "input", `{"input":1}`)
		m.mustStep()
		for i, offset := range offsets {
			m.batch.Appended = append(m.batch.Appended, Appended{Seq: m.seqOf(i), Offset: offset})
		}
		m.batch.Appended = append(m.batch.Appended, Appended{Seq: m.seqOf(2), Offset: 9})
		err := m.step()
		var descent *DescentError
		if !errors.As(err, &descent) || descent.Offset != offsets[1] {
			t.Errorf("offsets %v end the tenure with %v", offsets, err)
		}
		if n := len(m.of(machine.ReplyEffect)); n != 0 {
			t.Errorf("offsets %v: %d replies were released of what may be lost", offsets, n)
		}
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
	if got := m.p.inputs[events.FromCommands].Durable.Next; got != 2 {
		t.Fatalf("the position is %d while a record is in flight, want 2", got)
	}
	m.ack()
	if got := m.p.inputs[events.FromCommands].Durable.Next; got != 4 {
		t.Errorf("the position is %d, want 4: behind the duplicate", got)
	}
	if got := m.p.inputs[events.FromCommands].Row.Next; got != 3 {
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
	var l events.Letter
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
			t.Errorf("the caller got %+v", r)
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
	if bad != nil || cmd.ID != m.p.Names.Commands()+"/0/0@1000000" {
		t.Errorf("the forwarded command is %+v, %v; want its place as its id", cmd, bad)
	}
}

// What cannot be forwarded is not lost: a command that its id or stamp makes larger
// than a record may be, and anything that came compressed, goes to the dlq, and the sender
// is refused. The largest that fits is forwarded.
func TestJ4WhatIsTooLargeToForwardIsRejected(t *testing.T) {
	for name, c := range map[string]struct {
		source events.Source
		id     bool
		beyond int // bytes, of the record as it is
		want   string
	}{
		"a command without an id":        {events.FromCommands, false, 0, "InputRejected "},
		"a command with an id":           {events.FromCommands, true, -len(events.HeaderWritten) - len("1000000") - 2, "InputForwarded "},
		"one that its stamp makes large": {events.FromCommands, true, 1 - len(events.HeaderWritten) - len("1000000") - 2, "InputRejected "},
		"a command that came compressed": {events.FromCommands, true, 1, "InputRejected "},
		"an outcome":                     {events.FromInbox, true, 0, "InputForwarded "},
		"an outcome that came so":        {events.FromInbox, true, 1, "InputRejected "},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, Settings{})
			m.p.Partitions = 2
			key := "k0"
			for i := 0; kafka.PartitionFor([]byte(key), 2) == 0; i++ {
				key = "k" + string(rune('0'+i))
			}
			headers := []kgo.RecordHeader{kafka.Header(events.HeaderReplyTo, []byte("tester"))}
			if c.id {
				headers = append(headers, kafka.Header(events.HeaderID, []byte("1")))
			}
			r := m.input(c.source, key, `{"command":"pause"}`, headers...)
			limit := int(topics.Default().MaxBytes(m.p.Names, r.Topic))
			r.Value = append(r.Value, strings.Repeat(" ", limit-200)...)
			r.Value = append(r.Value, strings.Repeat(" ", limit+c.beyond-kafka.BatchBytes(r))...)
			m.mustStep()
			m.ack()
			if got := m.names(0); got != c.want {
				t.Fatalf("record is %s, want %s", got, c.want)
			}
			if c.want == "InputForwarded " {
				return
			}
			if letters := m.of(machine.DLQEffect); len(letters) != 1 || !strings.Contains(string(letters[0].Value), "too_large: ") {
				t.Errorf("%d letters", len(letters))
			}
			if c.source != events.FromCommands {
				return
			}
			if reply := m.reply(0); reply.Refusal == nil || reply.Refusal.Code != "too_large" {
				t.Errorf("the caller got %+v", reply)
			}
		})
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
	m.p.Write()
	if m.Get(status.Row(), nil) == nil {
		t.Fatal("the effect has no outbox row")
	}
	m.batch.Produced = []Produced{{Out: status, Err: kerr.MessageTooLarge}}
	m.mustStep()
	m.ack()
	if got := m.names(len(m.journal) - 1); got != "EffectFailed " {
		t.Errorf("record is %s", got)
	}
	m.p.Write()
	if m.Get(status.Row(), nil) != nil {
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

// mustTimeOut runs an attempt that times out once the ends of the inputs are read.
func (m *model) mustTimeOut() {
	m.t.Helper()
	m.running("timed")
	m.now = m.now.Add(2 * time.Minute)
	m.mustStep()
	m.ends()
	m.mustStep()
	m.ack()
	if got := m.sum("timed"); got != -1_000_000 {
		m.t.Errorf("sum is %d, want the timeout's mark", got)
	}
}

func TestJ5ATimeoutFiresOnceTheInputsAreRead(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	m.mustTimeOut()
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
		t.Errorf("the caller got %+v", r)
	}
}
