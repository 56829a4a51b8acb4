package executor

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/shared/events"
)

func TestProduceWritesARecord(t *testing.T) {
	inBubble(t, func(c *Config) { c.Topics = []string{"shop.*", "audit"} }, func(t *testing.T, p *workertest.Planner) {
		ctx := context.Background()
		if _, err := kadm.NewClient(p.Admin(t)).CreateTopics(ctx, 3, 1, nil, "shop.orders", "audit"); err != nil {
			t.Fatal(err)
		}
		reader, err := kafka.NewTail(p.Config, kafka.FromStart, "shop.orders", "audit")
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close(reader)
		for _, c := range []struct{ input, topic, key, value string }{
			{`{"topic": "shop.orders", "value": {"n": 1.50}}`, "shop.orders", "w-7", `{"n": 1.50}`},
			{`{"topic": "audit", "key": "k", "value": "plain text", "headers": {"kind": "x"}}`, "audit", "k", "plain text"},
			{`{"topic": "audit", "key": "", "value": null}`, "audit", "", ""},
		} {
			task := p.Task("w-7", "kafka.produce", nil)
			task.Input = json.RawMessage(c.input)
			p.Dispatch("default", 0, "w-7", task)
			o := p.Outcome(5 * time.Second)
			if o.Outcome != events.OutcomeCompleted {
				t.Fatalf("%s: %v %+v", c.input, o.Outcome, o.Error)
			}
			r := next(t, reader)
			var result struct {
				Topic             string
				Partition, Offset int64
			}
			if err := json.Unmarshal(o.Result, &result); err != nil {
				t.Fatal(err)
			}
			if r.Topic != c.topic || string(r.Key) != c.key || string(r.Value) != c.value ||
				result.Topic != c.topic || result.Partition != int64(r.Partition) || result.Offset != r.Offset {
				t.Errorf("%s: wrote %s %q=%q at %d/%d, told %s", c.input, r.Topic, r.Key, r.Value, r.Partition, r.Offset, o.Result)
			}
			if r.Partition != kafka.PartitionFor(r.Key, 3) {
				t.Errorf("%s: partition %d is not that of its key", c.input, r.Partition)
			}
			if id, _ := kafka.FindHeader(r, "heddle-id"); string(id) != task.IdempotencyKey {
				t.Errorf("%s: id %q, want the idempotency key", c.input, id)
			}
		}
	})
}

// next is the next record of a reader.
func next(t *testing.T, reader *kgo.Client) *kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for {
		fetches := reader.PollRecords(ctx, 1) // now and then without a record
		if err := fetches.Err(); err != nil {
			t.Fatalf("nothing was written: %v", err)
		}
		if fetches.NumRecords() > 0 {
			return fetches.Records()[0]
		}
	}
}

func TestProduceRefusesOtherTopics(t *testing.T) {
	for _, allowed := range [][]string{nil, {"shop.*"}, {"*"}} {
		inBubble(t, func(c *Config) { c.Topics = allowed }, func(t *testing.T, p *workertest.Planner) {
			for _, topic := range []string{"", "heddle.inbox", "heddle.tasks.default", "heddle.own", "bank.payments"} {
				if len(allowed) > 0 && allowed[0] == "*" && topic == "bank.payments" {
					continue
				}
				p.Dispatch("default", 0, "w", p.Task("w", "kafka.produce", map[string]any{"topic": topic, "value": 1}))
				o := p.Outcome(5 * time.Second)
				if o.Outcome != events.OutcomeFailed || !o.Error.NonRetryable {
					t.Errorf("%q with %q: %v, want a failure for good", topic, allowed, o.Outcome)
				}
			}
		})
	}
}
