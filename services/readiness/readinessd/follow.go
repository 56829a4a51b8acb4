package readinessd

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// follow reads authority, and derives and publishes until ctx ends.
func (s *Service) follow(ctx context.Context, ready func()) error {
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); s.read(reading) }()
	defer func() { stop(); <-done }()
	tick := time.NewTicker(deriveEvery)
	defer tick.Stop()
	for {
		if err := s.publish(ctx); err == nil {
			ready()
		} else if ctx.Err() == nil {
			s.logger.Error("publishing readiness", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

const (
	// catchUpTimeout is how long the service waits for records that should be
	// there before it says what it knows.
	catchUpTimeout = 10 * time.Second

	// quiet is how long nothing comes when what there was has been read.
	quiet = 200 * time.Millisecond
)

// catchUp reads what authority has, so that the first word is not that nobody
// owns anything. A log's end is no record (a transaction's marker is), so the
// end of reading is seen by silence.
func (s *Service) catchUp(ctx context.Context) error {
	ends, err := kadm.NewClient(s.admin).ListEndOffsets(ctx, s.set.Authority())
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("ask for the end of %s: %w", s.set.Authority(), err)
	}
	want := 0
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			want++
		}
	})
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	for ctx.Err() == nil {
		some, cancel := context.WithTimeout(ctx, quiet)
		fetches := s.tail.PollFetches(some)
		cancel()
		s.takeAll(fetches)
		if fetches.NumRecords() == 0 && s.table.seen() >= want {
			return nil
		}
	}
	return nil // later records tell the rest
}

func (s *Service) read(ctx context.Context) {
	reading := kafka.Reading{What: "authority", Logger: s.logger}
	for ctx.Err() == nil {
		fetches := s.tail.PollFetches(ctx)
		s.takeAll(fetches)
		if _, failed := reading.Failed(s.tail, fetches); failed {
			pause(ctx)
		}
	}
}

// pause keeps an error that comes back at once from becoming a busy loop.
func pause(ctx context.Context) {
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (s *Service) takeAll(fetches kgo.Fetches) {
	fetches.EachRecord(func(r *kgo.Record) {
		if err := s.table.take(r.Key, r.Value); err != nil {
			s.logger.Warn("an authority record is passed over", "offset", r.Offset, "error", err)
		}
	})
}

// publish writes what changed. What was not acknowledged is published again.
func (s *Service) publish(ctx context.Context) error {
	changes, err := s.table.derive(time.Now())
	if err != nil {
		return err
	}
	s.metrics.show(s.table.current())
	if len(changes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	list := make([]*kgo.Record, len(changes))
	for i, c := range changes {
		list[i] = kafka.Keyed(s.set.Readiness(), []byte(c.key), c.value)
	}
	results := s.producer.ProduceSync(ctx, list...)
	for _, r := range results {
		if r.Err != nil {
			s.table.forget(string(r.Record.Key))
		}
	}
	return results.FirstErr()
}
