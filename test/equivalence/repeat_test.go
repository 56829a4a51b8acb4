package equivalence

import (
	"context"
	"sync"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// copied marks a record that repeat has written.
const copied = "copy"

// repeat writes some of the records of the input logs again, some time later:
// every delivery may come twice, and late (property 3). The returned function
// ends it.
func (w *world) repeat(seed uint64) (end func()) {
	tail, err := kafka.NewTail(w.cluster.Config, kafka.FromEnd, w.cluster.Topics.Inbox(), w.cluster.Topics.Commands())
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := kafka.NewEffectsProducer(w.cluster.Config)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	d := workload.NewDice(seed)
	running.Go(func() {
		for ctx.Err() == nil {
			tail.PollFetches(ctx).EachRecord(func(k *kgo.Record) {
				if _, is := kafka.FindHeader(k, copied); is || !d.One(3) {
					return
				}
				if _, is := kafka.FindHeader(k, strange); is {
					return // each of them is accounted for at its place
				}
				after := d.Millis(0, 20_000)
				running.Go(func() { w.again(ctx, out, k, after) })
			})
		}
	})
	return func() {
		stop()
		running.Wait()
		synctest.Wait()
		tail.Close()
		out.Close()
	}
}

// again writes a record once more, as it was.
func (w *world) again(ctx context.Context, out *kgo.Client, k *kgo.Record, after time.Duration) {
	if workload.Pause(ctx, after) != nil {
		return
	}
	r := kafka.Placed(k.Topic, k.Partition, k.Key, k.Value, append(k.Headers[:len(k.Headers):len(k.Headers)], kafka.Header(copied, nil))...)
	if err := out.ProduceSync(context.WithoutCancel(ctx), r).FirstErr(); err != nil {
		w.t.Errorf("writing a record again: %v", err)
	}
}
