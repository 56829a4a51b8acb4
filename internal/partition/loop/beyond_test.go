package loop

import (
	"fmt"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// takenOver continues with another owner over what the store has.
func (m *model) takenOver() {
	m.t.Helper()
	old := m.p
	old.Write()
	old.LeaveParked()
	if n := old.Stats.Parked.Load(); n != 0 {
		m.t.Errorf("%d count as parked behind the tenure", n)
	}
	m.p = NewProcessor(old.Config)
	m.p.epoch, m.p.inputs = old.epoch+1, old.inputs
	m.p.landed, m.p.stored = m.stored, m.stored
	m.p.n, m.p.landedN, m.p.storedN = old.n, old.n, old.n
	m.p.lease = runtime.Lease{Owner: "me", LeaseID: "l", LeasedUntil: m.now.Add(time.Hour).UnixMilli(), Epoch: m.p.epoch}
	m.p.watch = old.watch
	m.p.watch.Processor = m.p
	m.produced = nil
	if err := m.p.rereleaseKept(); err != nil {
		m.t.Fatal(err)
	}
}

// outbox is how many effects the store has, and how many notes about what is beyond memory.
func (m *model) outbox() (effects, notes int) {
	for _, k := range m.memory.Keys() {
		switch {
		case k.Table == rows.Outbox && k.A == 0:
			notes++
		case k.Table == rows.Outbox:
			effects++
		}
	}
	return effects, notes
}

// However long an outage, memory has a bounded part of what waits, of summaries the
// outbox has one for each workflow, and in the end all are out in the order of their
// records: replies all, summaries the newest of each workflow. So it is with another owner
// in the middle.
func TestE1MemoryHoldsABoundedPartOfWhatWaits(t *testing.T) {
	for _, kind := range []machine.EffectKind{machine.ReplyEffect, machine.StatusEffect} {
		for _, takeover := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, takeover=%v", KindName(kind), takeover), func(t *testing.T) {
				const most, inflight, workflows, rounds = 8, 16, 40, 12
				m := newModel(t, Settings{Lease: time.Hour, InflightRecords: inflight, ParkedRecords: most, WriteDelay: time.Millisecond})
				decided := 0
				turn := func(id, w, name, body string) {
					m.command(id, w, name, body)
					decided++
					for range 3 {
						m.mustStep()
						m.ack()
						for _, o := range m.of(machine.TaskEffect) {
							m.outcome(o, "1")
						}
						m.shutOut(kind)
					}
				}
				for i := range workflows {
					turn(fmt.Sprint("s", i), fmt.Sprint("w", i), "start", `{"definition":"counter"}`)
				}
				for r := range rounds {
					for i := range workflows {
						turn(fmt.Sprint("i", r, "-", i), fmt.Sprint("w", i), "input", `{"input":1}`)
					}
					m.later()
					m.shutOut(kind)
					m.mustStep()
					m.bounded(most + inflight)
					if effects, notes := m.outbox(); kind == machine.StatusEffect && (effects > workflows || notes > workflows) {
						t.Fatalf("round %d: the outbox has %d summaries and %d notes of %d workflows", r, effects, notes, workflows)
					}
					if takeover && r == rounds/2 {
						m.takenOver()
						m.shutOut(kind)
						m.mustStep()
						m.bounded(most + inflight)
					}
				}
				want := map[machine.EffectKind]int{machine.ReplyEffect: decided, machine.StatusEffect: workflows}[kind]
				if n := m.p.Stats.Parked.Load(); n != int64(want) {
					t.Errorf("%d count as parked, want %d", n, want)
				}
				if notes := m.p.Waiting(); len(notes) != 1 || notes[0] != fmt.Sprintf("%d effects wait for %s", want, Destination{Topic: KindName(kind)}) {
					t.Errorf("waiting: %q", notes)
				}
				m.healed(kind, want)
			})
		}
	}
}

// bounded checks what memory has of what waits.
func (m *model) bounded(most int) {
	m.t.Helper()
	for _, l := range m.p.parked.lists {
		if l.live() > most || len(l.back) > most || len(l.list) > 2*most+mostSpare || !l.beyond.on {
			m.t.Fatalf("%s has %d effects in memory, its lists %d and %d, beyond it: %v", l.at, l.live(), len(l.list), len(l.back), l.beyond)
		}
	}
}

// healed delivers all that wait, and checks that they come in order and once, and that
// nothing is left of the outage.
func (m *model) healed(kind machine.EffectKind, want int) {
	m.t.Helper()
	seen := map[events.Position]bool{}
	newest := map[string]string{}
	var last events.Position
	out := 0
	for range 2000 {
		m.later()
		for _, o := range m.of(kind) {
			if o.Decided.Before(last) {
				m.t.Errorf("%s is out behind %s", o.Decided, last)
			}
			last = o.Decided
			out++
			seen[o.Decided] = true
			newest[o.Key] = string(o.Value)
		}
		m.delivered()
		m.produced = nil
		m.mustStep()
	}
	if len(seen) != want || out != want {
		m.t.Errorf("%d effects of %d records are out, want %d", out, len(seen), want)
	}
	for w, value := range newest {
		if kind == machine.StatusEffect && value != fmt.Sprint(m.sum(w)) {
			m.t.Errorf("the summary of %s says %s, its sum is %d", w, value, m.sum(w))
		}
	}
	m.p.Write()
	if effects, notes := m.outbox(); effects != 0 || notes != 0 {
		m.t.Errorf("the outbox keeps %d effects and %d notes", effects, notes)
	}
	if n := m.p.Stats.Parked.Load(); n != 0 || len(m.p.parked.lists) != 0 || m.p.outside.records != 0 {
		m.t.Errorf("%d are parked in %d waitlists at the end, %d in the bound", n, len(m.p.parked.lists), m.p.outside.records)
	}
}

// Of the tasks that wait memory has as many as there are open attempts, however many
// attempts have been over meanwhile.
func TestTasksThatWaitAreAsManyAsOpenAttempts(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour, WriteDelay: time.Millisecond})
	const open = 20
	for i := range open {
		m.running(fmt.Sprint("w", i))
	}
	m.shutOut(machine.TaskEffect)
	m.mustStep()
	for i := range 4 * mostSpare {
		w := fmt.Sprint("w", i%open)
		m.command(fmt.Sprint("again", i), w, "input", `{"input":1}`)
		m.mustStep()
		m.ack()
		k := m.p.watch.keys()[0]
		m.p.watch.giveUp(k, m.p.watch.open[k].row.Decided, "it is over")
		m.mustStep()
		m.ack()
		m.shutOut(machine.TaskEffect)
		m.mustStep()
		m.delivered()
		m.produced = nil
	}
	attempts := len(m.p.watch.open)
	for _, l := range m.p.parked.lists {
		if n := len(l.list); n < attempts || n > 2*attempts+mostSpare {
			t.Errorf("%s has %d tasks of %d open attempts", l.at, n, attempts)
		}
	}
	if n := m.p.Stats.Parked.Load(); n < int64(attempts) || n > int64(2*attempts+mostSpare) {
		t.Errorf("%d count as parked", n)
	}
}
