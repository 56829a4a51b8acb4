package partition

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/internal/kafka"
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
			r.Shut, r.Err = m.Outlet(o), errShut
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
	m.p.write()
}

// Whatever kind of effect nothing takes, commands are decided, and once its log
// takes it, each effect is out: tasks and replies all, in the order of their
// records, summaries the newest of their workflow.
func TestE1WhatNothingTakesIsSetAside(t *testing.T) {
	for _, kind := range []machine.EffectKind{machine.TaskEffect, machine.ReplyEffect, machine.StatusEffect} {
		t.Run(kindName(kind), func(t *testing.T) {
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
			if m.p.outside.records != 0 || shut == 0 || len(m.p.waiting()) != 1 {
				t.Errorf("%d are in the bound, %d came back, waiting: %q", m.p.outside.records, shut, m.p.waiting())
			}
			var out []*Outgoing
			for range 100 {
				m.later()
				if n := len(m.produced); n > bound/2 {
					t.Fatalf("%d are let out at a time, want at most half of the bound", n)
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
			m.p.write()
			for _, k := range m.memory.Keys() {
				if k.Table == (&Outgoing{}).row().Table {
					t.Errorf("the outbox keeps %v", k)
				}
			}
			if n := m.p.Stats.Aside.Load(); n != 0 || len(m.p.aside.lanes) != 0 {
				t.Errorf("%d are aside in %d lanes at the end", n, len(m.p.aside.lanes))
			}
		})
	}
}

// A task that is aside is not published for an attempt that is over, or that its
// taker has: it was written all the same.
func TestE3ATaskThatIsAsideGoesOutOnlyWhileItIsWanted(t *testing.T) {
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
			if n := m.p.Stats.Aside.Load(); n != 0 {
				t.Errorf("%d are aside", n)
			}
		})
	}
}

// What was set aside is let out later only if the lease has its margin then.
func TestE5WhatWasSetAsideWaitsForTheLease(t *testing.T) {
	m := newModel(t, Settings{Lease: 10 * time.Second, Margin: 2 * time.Second})
	m.running("w")
	m.shutOut(machine.TaskEffect)
	m.now = m.now.Add(8500 * time.Millisecond)
	m.mustStep()
	if len(m.produced) != 0 {
		t.Fatalf("let out at the margin: %s", m)
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
	if len(m.p.aside.lanes) != 0 || m.p.outside.records != 0 {
		t.Error("the log takes answers, and they wait")
	}
}

// without deletes a topic.
func (r *rig) without(topic string) {
	r.t.Helper()
	adm := kadm.NewClient(r.cluster.Admin(r.t))
	_, err := adm.DeleteTopics(context.Background(), topic)
	r.must(err)
}

// with makes it again.
func (r *rig) with(topic string) {
	r.t.Helper()
	adm := kadm.NewClient(r.cluster.Admin(r.t))
	_, err := adm.CreateTopic(context.Background(), 4, 1, nil, topic)
	r.must(err)
}

// A queue without a topic keeps its tasks waiting, and nothing else: other
// workflows go on, also with the next owner, and once there is a topic each
// attempt is published.
func TestAQueueWithoutATopicStopsNothingElse(t *testing.T) {
	inBubble(t, func(r *rig) {
		const inputs = 100
		r.settings.InflightRecords = 16
		p := r.partitionOf("w")
		tasks := r.names.Tasks("default")
		r.without(tasks)
		a := r.start("a", p)
		r.do("w", "start", `{"definition":"counter"}`)
		for range inputs {
			r.do("w", "input", `{"input": 7}`)
		}
		a.kill()
		b := r.start("a", p)
		defer b.leave()
		b.await(Owning)
		r.do(r.another(p), "start", `{"definition":"counter"}`)
		<-time.After(2 * kafka.EffectTimeout) // the tasks may be produced only just now

		if n := b.Stats.Aside.Load(); n == 0 || n > inputs { // the others wait until there is room
			t.Errorf("%d effects are aside, want some of %d tasks", n, inputs)
		}
		r.with(tasks)
		r.adder()
		<-time.After(time.Minute)
		if sum := r.settled("w"); sum != 7*inputs {
			t.Errorf("sum is %d, want %d", sum, 7*inputs)
		}
		if n := b.Stats.Aside.Load(); n != 0 {
			t.Errorf("%d effects are still aside", n)
		}
	})
}

// another is a workflow of a partition.
func (r *rig) another(p int32) string {
	for i := 0; ; i++ {
		if workflow := fmt.Sprint("other-", i); r.partitionOf(workflow) == p {
			return workflow
		}
	}
}

// A topic that is deleted while its effects are on their way keeps them waiting,
// and nothing else, whatever they are.
func TestATopicThatIsGoneStopsNothingElse(t *testing.T) {
	for name, topic := range map[string]func(r *rig) string{
		"tasks":    func(r *rig) string { return r.names.Tasks("default") },
		"statuses": func(r *rig) string { return r.names.Status() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				const inputs = 100
				r.settings.InflightRecords = 16
				a := r.start("a", r.partitionOf("w"))
				defer a.leave()
				r.do("w", "start", `{"definition":"counter"}`)
				r.do("w", "input", `{"input": 7}`)
				if name == "statuses" {
					r.adder()
				}
				r.without(topic(r))
				for range inputs {
					r.send("w", "input", `{"input": 7}`)
				}
				<-time.After(3 * kafka.EffectTimeout)
				if reply := r.do("w", "input", `{"input": 7}`); reply.Refusal != nil {
					t.Errorf("%+v", reply.Refusal)
				}
				r.with(topic(r))
				<-time.After(3 * kafka.EffectTimeout)
				if n := a.Stats.Aside.Load(); n != 0 {
					t.Errorf("the topic is there again, and %d effects are aside", n)
				}
			})
		})
	}
}
