package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Poller gives what has been fetched of the partitions that it reads; a *kgo.Client does.
type Poller interface {
	PollFetches(ctx context.Context) kgo.Fetches
}

// Range is a piece of one partition's log.
type Range struct {
	Topic     string
	Partition int32
	From, To  int64 // the first offset and the one behind the last; To < 0: it never ends

	// Stalled is asked whenever nothing has come for so long of a range that ends: its
	// error ends the reading, which is waited for otherwise. It is called with From as
	// it is then.
	Stalled func(ctx context.Context, from int64) error
	Wait    time.Duration

	// Pace is how long it takes at least from one poll to the next: who is in no hurry has brokers answer few fetches that bring
	// much, and not hundreds a second. What comes after a pause is not held up.
	Pace time.Duration
}

// Read visits the records of a range in order, control records among them, and moves
// From behind each. It ends with the range, the context, the first error of visit, or one of fetching that
// no later try makes good. What has come counts, however late this process gets to see it.
func (g *Range) Read(ctx context.Context, cl Poller, visit func(*kgo.Record) error) error {
	if g.Pace > 0 {
		pace := time.NewTicker(g.Pace)
		defer pace.Stop()
		cl = leisurely{cl, pace}
	}
	for !g.Done() {
		fetches, none := g.poll(ctx, cl)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case fetches.IsClientClosed():
			return kgo.ErrClientClosed
		case none:
			if err := g.Stalled(ctx, g.From); err != nil {
				return err
			}
			continue
		}
		if err := g.failed(fetches); err != nil {
			return err
		}
		if err := g.visit(fetches, visit); err != nil {
			return err
		}
	}
	return nil
}

// leisurely is a Poller that waits before each poll.
type leisurely struct {
	Poller
	pace *time.Ticker
}

// PollFetches implements Poller.
func (p leisurely) PollFetches(ctx context.Context) kgo.Fetches {
	select {
	case <-p.pace.C:
	case <-ctx.Done():
	}
	return p.Poller.PollFetches(ctx)
}

// Done reports whether the range is read to its end.
func (g *Range) Done() bool { return g.To >= 0 && g.From >= g.To }

// poll waits for records, of a range with an end not for ever, and reports whether there
// were none.
func (g *Range) poll(ctx context.Context, cl Poller) (fetches kgo.Fetches, none bool) {
	if g.To < 0 {
		return cl.PollFetches(ctx), false
	}
	some, stop := context.WithTimeout(ctx, g.Wait)
	defer stop()
	fetches = cl.PollFetches(some)
	return fetches, fetches.NumRecords() == 0 && some.Err() != nil
}

func (g *Range) failed(fetches kgo.Fetches) error {
	for _, f := range fetches.Errors() {
		if f.Topic == g.Topic && f.Partition == g.Partition && !IsRetriable(f.Err) {
			return f.Err
		}
	}
	return nil
}

func (g *Range) visit(fetches kgo.Fetches, visit func(*kgo.Record) error) error {
	for records := fetches.RecordIter(); !records.Done() && !g.Done(); {
		r := records.Next()
		if r.Topic != g.Topic || r.Partition != g.Partition || r.Offset < g.From {
			continue
		}
		g.From = r.Offset + 1
		if g.To >= 0 && r.Offset >= g.To { // compaction has taken the last ones
			return nil
		}
		if err := visit(r); err != nil {
			return err
		}
	}
	return nil
}
