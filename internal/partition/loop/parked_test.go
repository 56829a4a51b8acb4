package loop

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

var errShut = errors.New("its log has no leader")

// shutOut gives back everything that was released of one kind, and delivers the
// rest; it says how many were given back.
func (m *model) shutOut(kind machine.EffectKind) int {
	n := 0
	for _, o := range m.produced {
		r := Produced{Out: o}
		if o.Kind == kind {
			r.Unavailable, r.Err = m.Destination(o), errShut
			n++
		}
		m.batch.Produced = append(m.batch.Produced, r)
	}
	m.produced = nil
	m.mustStep()
	return n
}

// later steps once more after a while.
func (m *model) later() {
	m.t.Helper()
	m.now = m.now.Add(time.Second)
	m.mustStep()
	m.p.Write()
}

// Whatever kind of effect nothing takes, commands are decided, and once its log
// takes it, each effect is out: tasks and replies all, in the order of their
// records, summaries the newest of their workflow.
func TestE1WhatNothingTakesIsParked(t *testing.T) {
	for _, kind := range []machine.EffectKind{machine.TaskEffect, machine.ReplyEffect, machine.StatusEffect} {
		t.Run(KindName(kind), func(t *testing.T) {
			const inputs, bound = 60, 8
			m := newModel(t, Settings{Lease: time.Hour, InflightRecords: bound, WriteDelay: time.Millisecond})
			m.command("start", "w", "start", `{"definition":"counter"}`)
			m.mustStep()
			m.ack()
			shut := m.shutOut(kind)
			for i := range inputs {
				m.command(fmt.Sprint("i", i), "w", "input", `{"input":1}`)
				m.mustStep()
				m.ack()
				for _, o := range m.of(machine.TaskEffect) {
					if kind != machine.TaskEffect {
						m.outcome(o, "1")
					}
				}
				shut += m.shutOut(kind)
				m.ack()
				m.later()
			}
			shut += m.shutOut(kind)
			if n := m.p.Stats.Appended.Load(); n < inputs {
				t.Fatalf("%d records, want one of each of %d inputs", n, inputs)
			}
			if m.p.outside.records != 0 || shut == 0 || len(m.p.Waiting()) != 1 {
				t.Errorf("%d are in the bound, %d came back, waiting: %q", m.p.outside.records, shut, m.p.Waiting())
			}
			var out []*Outgoing
			for range 100 {
				m.later()
				if n := len(m.produced); n > bound/2 {
					t.Fatalf("%d are sent at a time, want at most half of the bound", n)
				}
				out = append(out, m.produced...)
				m.delivered()
				m.produced = nil
				m.mustStep()
			}
			seen := map[events.Position]bool{}
			for i, o := range out {
				if kind != machine.TaskEffect && i > 0 && o.Decided.Before(out[i-1].Decided) {
					t.Errorf("%s is out behind %s", o.Decided, out[i-1].Decided)
				}
				seen[o.Decided] = true
			}
			want := map[machine.EffectKind]int{machine.TaskEffect: inputs, machine.ReplyEffect: inputs + 1, machine.StatusEffect: 1}[kind]
			if len(seen) != want || len(out) != want {
				t.Errorf("%d effects of %d records are out, want %d", len(out), len(seen), want)
			}
			if kind == machine.StatusEffect && len(out) > 0 && string(out[0].Value) != fmt.Sprint(inputs) {
				t.Errorf("the summary says %s", out[0].Value)
			}
			m.p.Write()
			for _, k := range m.memory.Keys() {
				if k.Table == (&Outgoing{}).Row().Table {
					t.Errorf("the outbox keeps %v", k)
				}
			}
			if n := m.p.Stats.Parked.Load(); n != 0 || len(m.p.parked.lists) != 0 {
				t.Errorf("%d are parked in %d waitlists at the end", n, len(m.p.parked.lists))
			}
		})
	}
}

// A task that is parked is not published for an attempt that is over, or that its
// worker has: it was written all the same.
func TestE3ATaskThatIsParkedGoesOutOnlyWhileItIsWanted(t *testing.T) {
	for name, say := range map[string]func(token []byte) events.InboxMessage{
		"over": func(token []byte) events.InboxMessage {
			return &events.TaskOutcome{Token: token, Outcome: events.OutcomeCompleted, Result: []byte("1")}
		},
		"taken": func(token []byte) events.InboxMessage { return &events.TaskNotified{Token: token, Channel: "x"} },
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, Settings{Lease: time.Hour})
			task := m.running("w")
			m.shutOut(machine.TaskEffect)
			m.report(task, say)
			m.mustStep()
			m.ack()
			m.produced = nil
			m.later()
			if n := len(m.of(machine.TaskEffect)); n != 0 {
				t.Errorf("%d tasks were published", n)
			}
			if n := m.p.Stats.Parked.Load(); n != 0 {
				t.Errorf("%d are parked", n)
			}
		})
	}
}

// What was parked is sent later only if the lease has its margin then.
func TestE5WhatWasParkedWaitsForTheLease(t *testing.T) {
	m := newModel(t, Settings{Lease: 10 * time.Second, Margin: 2 * time.Second})
	m.running("w")
	m.shutOut(machine.TaskEffect)
	m.now = m.now.Add(8500 * time.Millisecond)
	m.mustStep()
	if len(m.produced) != 0 {
		t.Fatalf("sent at the margin: %s", m)
	}
	m.batch.Renewed = []Renewed{{Until: m.now.Add(10 * time.Second).UnixMilli()}}
	m.mustStep()
	if len(m.of(machine.TaskEffect)) != 1 {
		t.Errorf("after the renewal: %s", m)
	}
}

// Answers that nothing takes are dropped, but for the one that finds out whether
// their log takes something again.
func TestAnswersThatNothingTakesAreDropped(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	m.running("w")
	m.delivered()
	m.mustStep()
	m.produced = nil
	ask := func() {
		for range 5 {
			m.batch.Queries = append(m.batch.Queries, &events.Query{Workflow: "w", ReplyTo: events.ReplyTo{Address: "tester", ID: "q"}})
		}
		m.mustStep()
		for range 2 {
			m.ends()
			m.mustStep()
		}
	}
	ask()
	if n := m.shutOut(machine.ReplyEffect); n != 5 {
		t.Fatalf("%d answers came back", n)
	}
	ask()
	if n := len(m.produced); n != 0 {
		t.Errorf("%d answers went to a log that takes nothing", n)
	}
	m.later()
	if n := len(m.produced); n != 1 {
		t.Errorf("%d answers try, want one", n)
	}
	m.delivered()
	m.produced = nil
	m.mustStep()
	if len(m.p.parked.lists) != 0 || m.p.outside.records != 0 {
		t.Error("the log takes answers, and they wait")
	}
}
