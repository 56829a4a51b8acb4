package partition

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/defect"
	"github.com/heddle-run/heddle/internal/partition/feed"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
)

// askTimeout bounds one question about offsets; its caller asks again.
const askTimeout = 5 * time.Second

// endLookup looks up the ends of the input logs for all owners of a process:
// one question at a time serves all that have come before it.
type endLookup struct {
	host *Host
	mu   sync.Mutex
	want map[int32]*feed.Mailbox
	wake chan struct{}
}

func newEndLookup(h *Host) *endLookup {
	return &endLookup{host: h, want: map[int32]*feed.Mailbox{}, wake: make(chan struct{}, 1)}
}

func (a *endLookup) ask(p int32, box *feed.Mailbox) {
	a.mu.Lock()
	a.want[p] = box
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *endLookup) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		}
		a.mu.Lock()
		want := a.want
		a.want = map[int32]*feed.Mailbox{}
		a.mu.Unlock()
		a.answer(ctx, want)
	}
}

func (a *endLookup) answer(ctx context.Context, want map[int32]*feed.Mailbox) {
	ends, err := a.list(ctx)
	if ctx.Err() != nil {
		return
	}
	for p, box := range want {
		e := loop.Ends{}
		for _, s := range loop.Inputs {
			end, bad := kafka.OffsetOf(ends, err, a.host.router.Topic(s), p)
			if e.Err == nil && bad != nil {
				e.Err = fmt.Errorf("the end of %s/%d is not known: %w", s, p, bad)
			}
			e.End[s] = end
		}
		box.Put(func(b *loop.Batch) { b.Ends = append(b.Ends, e) })
	}
}

// list asks for the ends of what is acknowledged; with an error there may still be
// some. Transactions that are open do not matter: what is written behind them was
// acknowledged all the same, and the owner reads it once they have ended. After a failure it pauses, so that callers who ask again at once
// are no busy loop.
func (a *endLookup) list(ctx context.Context) (kadm.ListedOffsets, error) {
	ask, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	r := a.host.router
	list := a.host.adm.ListEndOffsets
	if a.host.Flaws.DecidedEnds.On() {
		list = a.host.adm.ListCommittedOffsets
	}
	var ends kadm.ListedOffsets
	err := defect.Caught(a.host.logger, a.host.Stats, func() (err error) {
		ends, err = list(ask, r.Topic(events.FromCommands), r.Topic(events.FromInbox))
		return err
	})
	if err != nil {
		sleep(ctx, retryPause)
	}
	return ends, err
}

// askDecided answers how far transactions in commands are decided.
func (h *Host) askDecided(ctx context.Context, p int32, box *feed.Mailbox) {
	var end int64
	err := defect.Caught(h.logger, h.Stats, func() (err error) {
		end, err = ask(ctx, h.adm.ListCommittedOffsets, h.names.Commands(), p)
		return err
	})
	if ctx.Err() == nil {
		box.Do(func(p *loop.Processor) { p.DecidedTo(end, err) })
	}
}

// askQueue answers where a queue's log stands.
func (h *Host) askQueue(ctx context.Context, queue string, box *feed.Mailbox) {
	q := loop.QueueOffsets{Queue: queue}
	q.Err = defect.Caught(h.logger, h.Stats, func() (err error) {
		q.Partitions, err = h.queueOffsets(ctx, queue)
		return err
	})
	if ctx.Err() == nil {
		box.Put(func(b *loop.Batch) { b.Queues = append(b.Queues, q) })
	}
}

func (h *Host) queueOffsets(ctx context.Context, queue string) ([]loop.QueuePartition, error) {
	ctx, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	topic := h.names.Tasks(queue)
	starts, err := h.adm.ListStartOffsets(ctx, topic)
	if err != nil && len(starts) == 0 {
		return nil, err
	}
	ends, err := h.adm.ListEndOffsets(ctx, topic)
	if err != nil && len(ends) == 0 {
		return nil, err
	}
	committed, err := h.adm.FetchOffsets(ctx, h.names.QueueGroup(queue))
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // no worker has ever joined: nothing is taken
		return nil, err
	}
	all := make([]loop.QueuePartition, max(len(starts[topic]), int(h.queues.partitions(topic))))
	known := 0
	for p := range all {
		start, bad := kafka.OffsetOf(starts, nil, topic, int32(p))
		end, worse := kafka.OffsetOf(ends, nil, topic, int32(p))
		if bad = errors.Join(bad, worse); bad != nil {
			all[p].Unknown, err = true, bad
			continue
		}
		known++
		all[p].Start, all[p].End = start, end
		if c, ok := committed.Lookup(topic, int32(p)); ok {
			all[p].Committed = c.At
		}
	}
	if known == 0 {
		return nil, err
	}
	return all, nil
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
