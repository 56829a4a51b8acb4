package equivalence

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// ofOperator reports whether a command, by its id, is to a partition itself.
func ofOperator(id string) bool {
	workflow, _, _ := strings.Cut(id, "\x00")
	_, ok := events.PartitionOf(workflow)
	return ok
}

// operate is an operator who goes on without what is gone of input logs, as partitions
// tell it, and resumes what was quarantined. The returned function ends it.
func (w *world) operate() (end func()) {
	cl, err := kafka.NewTail(w.cluster.Config, kafka.FromStart, w.cluster.Topics.Authority())
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() { w.acceptLosses(ctx, cl, &working) })
	working.Go(func() { w.resumeQuarantined(ctx) })
	return func() { stop(); working.Wait(); cl.Close() }
}

// acceptLosses accepts what blocks a partition, again and again until it does not any more: the word
// itself may be lost with the log that it is in.
func (w *world) acceptLosses(ctx context.Context, cl *kgo.Client, working *sync.WaitGroup) {
	var mu sync.Mutex
	blocks := map[int32]partition.LossError{} // what blocks each partition now
	blocked := func(l partition.LossError) bool {
		mu.Lock()
		defer mu.Unlock()
		return blocks[l.Partition] == l
	}
	for ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(k *kgo.Record) {
			var rec runtime.Record
			if json.Unmarshal(k.Value, &rec) != nil {
				return
			}
			var loss partition.LossError
			if rec.Blocked != nil {
				loss, _ = partition.LossIn(*rec.Blocked)
			}
			mu.Lock()
			again := blocks[k.Partition] == loss
			blocks[k.Partition] = loss
			mu.Unlock()
			if again || loss == (partition.LossError{}) {
				return
			}
			w.happened("a loss that an operator accepts", "loss", *rec.Blocked)
			working.Go(func() {
				for first := true; blocked(loss) && (first || workload.Pause(ctx, 10*time.Second) == nil); first = false {
					w.acceptLoss(ctx, loss)
				}
			})
		})
	}
}

func (w *world) acceptLoss(ctx context.Context, l partition.LossError) {
	_, err := w.client.AcceptLoss(ctx, l.Partition, client.Loss{Log: l.Log, From: l.From, To: l.To}, client.By{Who: "an operator", Why: "it is gone"})
	if err != nil && ctx.Err() == nil {
		w.happened("an acceptance that was refused", "log", l.Log, "from", l.From, "to", l.To, "error", err)
	}
}

func (w *world) resumeQuarantined(ctx context.Context) {
	for workload.Pause(ctx, 3*time.Second) == nil {
		for _, wf := range w.plan.Workflows {
			for _, id := range []string{wf.ID, workload.Calmly + wf.ID} {
				now, err := w.client.Get(ctx, id)
				if err != nil || now.Failure == nil || now.Failure.Error.Type != "quarantined" {
					continue
				}
				if _, err := w.client.Resume(ctx, id, client.ResumeOptions{By: client.By{Who: "an operator", Why: "it is whole"}}); err == nil {
					w.happened("a workflow that an operator resumes")
				}
			}
		}
	}
}
