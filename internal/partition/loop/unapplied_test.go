package loop

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// replay brings a new model to the end of another one's journal.
func (m *model) replay(of *model, unapplied events.FactID) {
	m.t.Helper()
	m.p.epoch, m.p.seq = 0, 0
	m.p.Machine = &looptest.Counter{Key: looptest.Secret, Unapplied: unapplied}
	var at journal.Mark
	for i, k := range of.journal {
		rec := of.record(i)
		at = at.Next(rec.Position, int64(i+1), k.Value)
		if _, err := m.p.replayRecord(rec, at, false); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := m.p.Owed(); err != nil {
		m.t.Fatal(err)
	}
}

func TestJ6ARecordThatCannotBeAppliedIsQuarantinedOnce(t *testing.T) {
	live := newModel(t, Settings{})
	live.running("w")
	live.command("b", "w", "input", `{"input":2}`)
	live.command("c", "w", "input", `{"input":3}`)
	live.mustStep()
	live.ack()
	bad := live.record(2)

	dead := newModel(t, Settings{}) // it dies before it can say so
	dead.replay(live, 2)

	next := newModel(t, Settings{})
	next.replay(live, 2)
	next.mustStep()
	next.ack()
	if len(next.journal) != 1 || next.names(0) != "WorkflowQuarantined " {
		t.Fatalf("after the recovery there are %s, want one quarantine", next)
	}
	rec := next.record(0)
	e := rec.Events[0].(*events.WorkflowQuarantined)
	if rec.Workflow != "w" || !strings.Contains(e.Reason, bad.Position.String()) || !strings.Contains(e.Reason, "cursed") {
		t.Errorf("the quarantine of %q says %q, want it to name record %s of w", rec.Workflow, e.Reason, bad.Position)
	}
	if got := next.p.inputs[events.FromCommands].Row.Next; got != 4 {
		t.Errorf("the position is %d, want 4", got)
	}
	next.command("b", "w", "input", `{"input":2}`)
	next.mustStep()
	if r := next.reply(0); r.Refusal == nil || r.Refusal.Code != "quarantined" {
		t.Errorf("the repetition of what is quarantined got %+v", r)
	}

	live.journal = append(live.journal, next.journal...)
	again := newModel(t, Settings{})
	again.replay(live, 2)
	again.mustStep()
	if len(again.journal) != 0 {
		t.Errorf("the second recovery appended %s", again.names(0))
	}
	if n := len(again.of(machine.TaskEffect)); n != 0 {
		t.Errorf("%d tasks were released by the replay", n)
	}
}

// An event about an input log that no owner writes cannot be applied: it moves
// nothing, and nothing else of the partition suffers from it.
func TestJ6AnImpossiblePositionIsQuarantinedOnce(t *testing.T) {
	bad := map[string]events.Event{
		"truncated to a negative offset":     &events.InputLogTruncated{Log: events.FromCommands, Generation: 1, Expected: 2, Resume: -1},
		"truncated from a negative offset":   &events.InputLogTruncated{Log: events.FromInbox, Generation: 1, Expected: -5},
		"truncated under an old generation":  &events.InputLogTruncated{Log: events.FromCommands, Expected: 2},
		"truncated under a generation ahead": &events.InputLogTruncated{Log: events.FromInbox, Generation: 2},
		"lost from a negative offset":        &events.InputLost{Log: events.FromInbox, Generation: 1, From: -1, To: 7},
		"lost to a negative offset":          &events.InputLost{Log: events.FromInbox, Generation: 1, From: -9, To: -7},
		"lost backwards":                     &events.InputLost{Log: events.FromInbox, Generation: 1, From: 7, To: 6},
		"lost nothing":                       &events.InputLost{Log: events.FromInbox, Generation: 1, From: 7, To: 7},
		"lost what was read":                 &events.InputLost{Log: events.FromCommands, Generation: 1, From: 0, To: 1},
		"lost under an old generation":       &events.InputLost{Log: events.FromCommands, From: 2, To: 7},
		"lost under the last generation":     &events.InputLost{Log: events.FromCommands, Generation: math.MaxUint32, From: 2, To: 7},
	}
	for _, source := range []events.Source{events.FromEngine, events.FromTimer, 200} {
		bad[fmt.Sprintf("truncated of %d", source)] = &events.InputLogTruncated{Log: source, Generation: 1, Resume: 7}
		bad[fmt.Sprintf("lost of %d", source)] = &events.InputLost{Log: source, Generation: 1, To: 7}
	}
	for name, event := range bad {
		t.Run(name, func(t *testing.T) { quarantinedOnce(t, event) })
	}
}

// quarantinedOnce replays a journal whose last record has the event.
func quarantinedOnce(t *testing.T, event events.Event) {
	live := newModel(t, Settings{})
	live.running("w")
	live.command("a", "w", "input", `{"input":1}`)
	live.mustStep()
	live.ack()
	without := newModel(t, Settings{})
	without.replay(live, 0)
	last := live.record(len(live.journal) - 1).Position
	bad := &events.Record{Position: events.Position{Epoch: last.Epoch, Seq: last.Seq + 1}, Time: live.now.UnixMilli(), Events: []events.Event{event}}
	live.journal = append(live.journal, journal.Encode(bad, live.p.Names, 0))

	next := newModel(t, Settings{})
	next.replay(live, 0)
	for _, s := range Inputs {
		if row, was := next.p.inputs[s].Row, without.p.inputs[s].Row; !reflect.DeepEqual(row, was) {
			t.Errorf("the position of %s is %+v, was %+v", s, row, was)
		}
	}
	next.mustStep()
	next.ack()
	if len(next.journal) != 1 || next.names(0) != "WorkflowQuarantined " {
		t.Fatalf("after the recovery there are %s, want one quarantine", next)
	}
	if e := next.record(0).Events[0].(*events.WorkflowQuarantined); !strings.Contains(e.Reason, bad.Position.String()) {
		t.Errorf("the quarantine says %q, want it to name record %s", e.Reason, bad.Position)
	}
	next.command("b", "w", "input", `{"input":2}`)
	next.mustStep()
	next.ack()
	if r := next.reply(0); r.Refusal != nil {
		t.Errorf("a command behind it got %+v", r.Refusal)
	}

	live.journal = append(live.journal, next.journal...)
	again := newModel(t, Settings{})
	again.replay(live, 0)
	again.mustStep()
	if len(again.journal) != 0 {
		t.Errorf("the second recovery appended %s", again.names(0))
	}
}

// A lawful event moves its log, also where it goes back, and one that cannot be
// says what of it cannot.
func TestPositionsJumpWhereTheJournalSays(t *testing.T) {
	p := &Processor{}
	p.intake.Processor = p
	fold := func(e events.Event) error { return p.intake.foldPositions(&events.Record{Events: []events.Event{e}}) }
	for i, c := range []struct {
		e    events.Event
		next int64
	}{
		{&events.InputLost{Log: events.FromCommands, Generation: 1, From: 3, To: 9}, 9},
		{&events.InputLogTruncated{Log: events.FromCommands, Generation: 2, Expected: 9, Resume: 4}, 4},
		{&events.InputLogTruncated{Log: events.FromCommands, Generation: 3, Expected: 4, Resume: 12}, 12}, // made anew
	} {
		if err := fold(c.e); err != nil {
			t.Error(err)
		}
		if row := p.inputs[events.FromCommands].Row; row.Next != c.next || row.Generation != uint32(i+1) {
			t.Errorf("behind %+v the position is %+v", c.e, row)
		}
	}
	var bad *PositionError
	e := &events.InputLost{Log: events.FromCommands, Generation: 4, From: 3, To: 9}
	if err := fold(e); !errors.As(err, &bad) || bad.Event != e || bad.Log != events.FromCommands {
		t.Errorf("a position that goes back is %v", err)
	}
}

// No owner writes a record without events. A lawful one changes nothing, and ends
// no recovery: also where the partition's keys hold it already.
func TestJ6ARecordWithoutEventsEndsNoRecovery(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		for _, workflow := range []string{"w", ""} {
			m := newModel(t, Settings{})
			for seq, e := range [][]events.Event{{&events.WorkflowStarted{}}, nil, {&events.CheckpointRequested{}}} {
				rec := &events.Record{Position: events.Position{Epoch: 1, Seq: uint64(2 + seq)}, Workflow: workflow, Events: e}
				if err := m.p.Replay(rec, journal.Mark{Position: rec.Position}, guarded); err != nil {
					t.Fatal(err)
				}
			}
			if n := m.p.Stats.Quarantined.Load(); n != 0 {
				t.Errorf("guarded %t, of %q: %d quarantines", guarded, workflow, n)
			}
		}
	}
}
