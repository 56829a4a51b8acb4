package loop

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

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
	m.p.Write()
	if m.memory.Get(status.Row(), nil) == nil {
		t.Error("the store has neither the effect nor its refusal")
	}
	m.ack()
	m.p.Write()
	if m.memory.Get(status.Row(), nil) != nil {
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
	m.p.Write()
	if _, failed := m.record(len(m.journal) - 1).Events[0].(*events.EffectFailed); !failed || m.memory.Get(status.Row(), nil) != nil {
		t.Error("the refused effect is in the outbox")
	}
}
