// Package workertest is the planner's side of a worker's tests: it produces task
// records over an embedded broker and reads what workers report.
package workertest

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// tokenKey is the deployment's secret in tests; workers never see it.
var tokenKey = events.Key("workertest's secret")

// Planner plays the planner of all partitions.
type Planner struct {
	*brokertest.Cluster
	t        testing.TB
	producer *kgo.Client
	inbox    *kgo.Client
	waiting  []events.InboxMessage // polled and not asked for yet
	decided  uint64
}

// InBubble runs fn with a Planner over a broker in a bubble of virtual time.
func InBubble(t *testing.T, o topics.Options, fn func(t *testing.T, p *Planner)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { fn(t, New(t, brokertest.StartInBubble(t, o))) })
}

// New makes a Planner that lives as long as the test.
func New(t testing.TB, c *brokertest.Cluster) *Planner {
	t.Helper()
	p := &Planner{Cluster: c, t: t}
	var err error
	if p.producer, err = kafka.NewEffectsProducer(c.Config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(p.producer) })
	if p.inbox, err = kafka.NewTail(c.Config, kafka.FromStart, c.Topics.Inbox()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(p.inbox) })
	return p
}

// Task is an attempt with a token of its own and an input.
func (p *Planner) Task(workflow, task string, input any) *events.Task {
	p.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		p.t.Fatal(err)
	}
	p.decided++
	token := tokenKey.Seal(events.Token{
		Workflow: workflow, Run: events.RunID{Epoch: 1, Seq: 1}, Runnable: 1, Attempt: 1,
		Decided: events.Position{Epoch: 1, Seq: p.decided},
	})
	return &events.Task{Token: token, Task: task, Component: "c", Attempt: 1, Input: raw, IdempotencyKey: workflow + "/r1"}
}

// Dispatch publishes attempts of a workflow to a partition of a queue.
func (p *Planner) Dispatch(queue string, partition int32, workflow string, tasks ...*events.Task) {
	p.t.Helper()
	for _, task := range tasks {
		p.Produce(kafka.Placed(p.Topics.Tasks(queue), partition, []byte(workflow), wire.Marshal(task)))
	}
}

// Cancel asks all workers to cancel an attempt.
func (p *Planner) Cancel(workflow string, token []byte, reason string) {
	p.t.Helper()
	p.Produce(kafka.Keyed(p.Topics.TaskControl(), []byte(workflow), wire.Marshal(&events.TaskCancel{Token: token, Reason: reason})))
}

// Produce writes a record and waits for its acknowledgement. As a planner does, it
// writes it again when the topic turns out to be another one of its name.
func (p *Planner) Produce(r *kgo.Record) {
	p.t.Helper()
	err := p.producer.ProduceSync(context.Background(), r).FirstErr()
	for kafka.IsRemade(err) {
		time.Sleep(time.Millisecond)
		err = p.producer.ProduceSync(context.Background(), r).FirstErr()
	}
	if err != nil {
		p.t.Fatalf("produce to %s: %v", r.Topic, err)
	}
}

// Next is the next report of any worker; the test fails when none comes in d.
func (p *Planner) Next(d time.Duration) events.InboxMessage {
	p.t.Helper()
	m := p.Within(d)
	if m == nil {
		p.t.Fatalf("no report within %v", d)
	}
	return m
}

// Outcome is the next outcome, skipping notifications and heartbeats.
func (p *Planner) Outcome(d time.Duration) *events.TaskOutcome {
	p.t.Helper()
	for end := time.Now().Add(d); ; {
		if o, ok := p.Next(time.Until(end)).(*events.TaskOutcome); ok {
			return o
		}
	}
}

// Within is the next report, or nil when none comes in d.
func (p *Planner) Within(d time.Duration) events.InboxMessage {
	p.t.Helper()
	for end := time.Now().Add(d); len(p.waiting) == 0 && time.Now().Before(end); {
		p.poll(time.Until(end)) // now and then without a record
	}
	if len(p.waiting) == 0 {
		return nil
	}
	m := p.waiting[0]
	p.waiting = p.waiting[1:]
	return m
}

func (p *Planner) poll(d time.Duration) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	p.inbox.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
		m, err := events.DecodeInbox(r.Value)
		if err != nil {
			p.t.Fatal(err)
		}
		token, err := tokenKey.Open(m.AttemptToken())
		if err != nil || token.Workflow != string(r.Key) {
			p.t.Fatalf("a report under the key %q has the token of %q: %v", r.Key, token.Workflow, err)
		}
		p.waiting = append(p.waiting, m)
	})
}

// Committed is the offset that the workers of a queue have committed in a
// partition; -1 when none.
func (p *Planner) Committed(queue string, partition int32) int64 {
	p.t.Helper()
	return committed(p.t, p.Admin(p.t), p.Topics.QueueGroup(queue), p.Topics.Tasks(queue), partition)
}
