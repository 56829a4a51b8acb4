package partition

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// An effect that was refused for good is over, also for an owner that replays
// its record together with the one that says so.
func TestJ4ARefusedEffectIsNotReleasedAgainByReplay(t *testing.T) {
	for name, refuse := range map[string]func(r *rig, p int32){
		"made from the record": func(r *rig, _ int32) {
			r.do("loud", "start", `{"definition":"counter"}`)
			r.do("loud", "input", `{"input":7}`)
			r.settled("loud")
		},
		"made from the input": func(r *rig, p int32) {
			rec := kafka.Placed(r.names.Commands(), p, []byte("loud"), []byte("no command"))
			rec.Headers = slices.Repeat(append(rec.Headers, kafka.Header("h", nil)), 250_000) // its letter is larger than the dlq takes
			r.must(r.producer.ProduceSync(context.Background(), rec).FirstErr())
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.settings.NeverRunsTwice = true
				r.settings.CheckpointInterval = time.Hour // the journal is replayed
				r.adder()
				p := r.partitionOf("loud")
				a := r.start("a", p)
				refuse(r, p)
				r.do("loud", "pause", `{}`)
				r.do("loud", "pause", `{}`)
				if n := r.has(p, "EffectFailed"); n != 1 {
					t.Fatalf("%d effects have failed, want one", n)
				}
				a.kill()
				r.forgetIn("a", p)
				b := r.start("a", p)
				defer b.leave()
				r.do("loud", "pause", `{}`)
				r.do("loud", "pause", `{}`)
				if n := b.Stats.Failed.Load(); n != 0 {
					t.Errorf("after the recovery %d effects were refused again", n)
				}
			})
		})
	}
}

// Until the journal says that an effect was refused, the outbox has it: a crash
// in between must not forget both.
func TestJ4ARefusalIsNotForgottenBeforeItIsRecorded(t *testing.T) {
	m := newModel(t, Settings{})
	m.outcome(m.running("w"), "5")
	m.mustStep()
	m.ack()
	status := m.of(machine.StatusEffect)[0]
	m.batch.Produced = []Produced{{Out: status, Err: kerr.MessageTooLarge}}
	m.mustStep() // EffectFailed is in flight
	m.p.write()
	if m.memory.Get(status.row(), nil) == nil {
		t.Error("the store has neither the effect nor its refusal")
	}
	m.ack()
	m.p.write()
	if m.memory.Get(status.row(), nil) != nil {
		t.Error("the outbox keeps what will never be out")
	}
}

// The same where the record, its effect's refusal, and the end of both come into
// one batch of the store.
func TestJ4ARefusalInTheBatchOfItsRecordLeavesNoOutbox(t *testing.T) {
	m := newModel(t, Settings{WriteDelay: time.Hour, WriteRecords: 1 << 20, WriteBytes: 1 << 30})
	m.outcome(m.running("w"), "5")
	m.mustStep()
	m.ack()
	status := m.of(machine.StatusEffect)[0]
	m.batch.Produced = []Produced{{Out: status, Err: kerr.MessageTooLarge}}
	m.mustStep()
	m.ack()
	if !m.stored.IsZero() {
		t.Fatal("the store was written in between")
	}
	m.p.write()
	if _, failed := m.record(len(m.journal) - 1).Events[0].(*events.EffectFailed); !failed || m.memory.Get(status.row(), nil) != nil {
		t.Error("the refused effect is in the outbox")
	}
}
