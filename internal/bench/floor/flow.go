package floor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// flow is the clients of one run and the parts between them.
type flow struct {
	rounds, width int
	set           *topics.Set

	client, planner, worker  struct{ produce, consume *kgo.Client }
	journal, summaries, rows *kgo.Client
	view                     *kgo.Client

	slots  []slot // one per workflow at a time
	loops  []*loop
	stop   context.CancelFunc
	tasks  sync.WaitGroup
	faults chan error // the first one
}

// open makes the clients: the ones that the services use, with their options.
func (f *flow) open(c kafka.Config, concurrency int) error {
	f.slots = makeSlots(concurrency)
	partition := func() (*kgo.Client, error) { return kafka.NewPartitionConsumer(c) }
	effects := func() (*kgo.Client, error) { return kafka.NewEffectsProducer(c) }
	for _, m := range []struct {
		into **kgo.Client
		make func() (*kgo.Client, error)
	}{
		{&f.client.produce, effects}, {&f.client.consume, partition},
		{&f.planner.produce, effects}, {&f.planner.consume, partition},
		{&f.worker.produce, effects}, {&f.worker.consume, partition},
		{&f.journal, func() (*kgo.Client, error) { return kafka.NewJournalProducer(c) }},
		{&f.summaries, func() (*kgo.Client, error) { return kafka.NewSummaryProducer(c) }},
		{&f.rows, effects}, {&f.view, partition},
	} {
		var err error
		if *m.into, err = m.make(); err != nil {
			return err
		}
	}
	return nil
}

// toEnds starts every consumer at the present end of its topics, so that what
// an earlier run left is not taken for this one's.
func (f *flow) toEnds(ctx context.Context, c kafka.Config) error {
	admin, err := kafka.NewAdmin(c)
	if err != nil {
		return err
	}
	defer admin.Close()
	for _, consumer := range []struct {
		cl     *kgo.Client
		topics []string
	}{
		{f.client.consume, []string{f.set.Replies()}},
		{f.planner.consume, []string{f.set.Commands(), f.set.Inbox()}},
		{f.worker.consume, []string{f.set.Tasks(queue)}},
		{f.view, []string{f.set.Status()}},
	} {
		ends, err := kadm.NewClient(admin).ListEndOffsets(ctx, consumer.topics...)
		if err == nil {
			err = ends.Error()
		}
		if err != nil {
			return fmt.Errorf("floor: find the ends of the topics: %w", err)
		}
		consumer.cl.AddConsumePartitions(ends.KOffsets())
	}
	return nil
}

// measure runs the flow and returns how long each workflow took that ended
// within the window after the warm-up.
func (f *flow) measure(ctx context.Context, o Options) ([]time.Duration, time.Duration) {
	ctx, f.stop = context.WithCancel(ctx)
	f.startLoops(ctx)
	f.tasks.Go(func() { f.poll(ctx, f.planner.consume, f.dispatch) })
	f.tasks.Go(func() { f.poll(ctx, f.worker.consume, f.work) })
	f.tasks.Go(func() { f.poll(ctx, f.client.consume, f.reply) })
	f.tasks.Go(func() { f.poll(ctx, f.view, f.list) })
	begin := time.Now().Add(o.WarmUp)
	end := begin.Add(o.Duration)
	runs := f.drive(ctx, begin, end)
	f.stop()
	f.tasks.Wait()
	return runs, end.Sub(begin)
}

// poll hands on each partition's records until the context ends.
func (f *flow) poll(ctx context.Context, cl *kgo.Client, take func(topic string, partition int32, rs []*kgo.Record)) {
	for ctx.Err() == nil {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		fetches.EachError(func(topic string, p int32, err error) {
			f.fail(fmt.Errorf("floor: consume %s/%d: %w", topic, p, err))
		})
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if len(p.Records) > 0 {
				take(p.Topic, p.Partition, p.Records)
			}
		})
	}
}

// fail keeps the first fault and ends the run.
func (f *flow) fail(err error) {
	select {
	case f.faults <- err:
	default:
	}
	f.stop()
}

// sent is the promise of records whose loss would end the run.
func (f *flow) sent(_ *kgo.Record, err error) {
	if err != nil && !errors.Is(err, kgo.ErrClientClosed) {
		f.fail(fmt.Errorf("floor: produce: %w", err))
	}
}

func (f *flow) fault() error {
	select {
	case err := <-f.faults:
		return err
	default:
		return nil
	}
}

func (f *flow) close() {
	for _, cl := range []*kgo.Client{
		f.client.produce, f.client.consume, f.planner.produce, f.planner.consume,
		f.worker.produce, f.worker.consume, f.journal, f.summaries, f.rows, f.view,
	} {
		if cl != nil {
			cl.Close()
		}
	}
}
