package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/shared/events"
)

// A limit of the inbox that is lowered under load refuses whole batches of small
// results. They are reported all the same; only what is larger by itself is a failure,
// and a failure that is larger is told without what makes it so.
func TestJ4ALowerLimitOfTheInboxLosesNothingThatFits(t *testing.T) {
	const small, lowered = 60, 32 << 10
	workertest.InBubble(t, topics.Options{Partitions: 1, QueuePartitions: 1}, func(t *testing.T, p *workertest.Planner) {
		rng := rand.NewChaCha8([32]byte{5})
		text := func(bytes int) json.RawMessage { return json.RawMessage(`"` + brokertest.Noise(rng, bytes) + `"`) }
		result, largeResult, details := text(4<<10), text(3*lowered), text(events.MaxDetails-10)
		gate := make(chan struct{})
		together := func(f worker.HandlerFunc) worker.HandlerFunc {
			return func(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
				<-gate
				return f(ctx, a)
			}
		}
		start(t, p, small+2, handlers{
			"small": together(func(context.Context, *worker.Attempt) (json.RawMessage, error) {
				return result, nil
			}),
			"large": together(func(context.Context, *worker.Attempt) (json.RawMessage, error) {
				return largeResult, nil
			}),
			"fails": together(func(context.Context, *worker.Attempt) (json.RawMessage, error) {
				return nil, &worker.TaskError{Type: "wrong", Message: "it is wrong", Details: details}
			}),
		})
		names, ended := map[string]string{}, map[string]bool{}
		for i := range small + 2 {
			name := map[int]string{0: "large", small + 1: "fails"}[i]
			if name == "" {
				name = "small"
			}
			wf := fmt.Sprint("w", i)
			task := p.Task(wf, name, nil)
			names[string(task.Token)] = name
			p.Dispatch("default", 0, wf, task)
		}
		p.Lower(t, p.Topics.Inbox(), lowered)
		time.Sleep(100 * time.Millisecond) // all are taken, and within the grace
		close(gate)
		for len(ended) < len(names) { // what was on its way when the limit was learnt may come twice
			o := p.Outcome(30 * time.Second)
			ended[string(o.Token)] = true
			switch names[string(o.Token)] {
			case "small":
				if o.Outcome != events.OutcomeCompleted {
					t.Errorf("a small result ended as %s %+v", o.Outcome, o.Error)
				}
			case "large":
				if o.Outcome != events.OutcomeFailed || o.Error.Type != events.ErrorResultTooLarge {
					t.Errorf("a large result ended as %s %+v", o.Outcome, o.Error)
				}
			case "fails":
				if o.Outcome != events.OutcomeFailed || o.Error.Type != "wrong" || !strings.HasPrefix(o.Error.Message, "it is wrong") || len(o.Error.Details) > 0 {
					t.Errorf("a failure with large details ended as %s %+v", o.Outcome, o.Error)
				}
			default:
				t.Fatalf("an attempt that was never there has ended: %+v", o)
			}
		}
	})
}
