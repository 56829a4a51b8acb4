package partition

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
)

// tooLarge is the end of a tenure whose journal or changelog takes less than it did:
// the broker's limit was lowered. A batch is refused whole, however small its records
// are; so the limit is found out, and the next tenure has clients that heed it. What
// it decides that does not fit is refused (J4).
func (r *tenure) tooLarge(ctx context.Context, err error) error {
	h := r.host
	var txn *kafka.TxnError
	if errors.As(err, &txn) {
		less, learnt := h.learnLimit(ctx, h.names.State(), r.began)
		if learnt == nil && !less {
			return &BlockedError{"a row of the state is larger than the topic " + h.names.State() + " takes: raise its max.message.bytes"}
		}
		return errors.Join(err, learnt)
	}
	if h.journalClient() != r.log.journal { // another partition has found it out
		return err
	}
	_, learnt := h.learnLimit(ctx, h.names.Journal(), r.began)
	return errors.Join(err, learnt, h.replaceJournal(r.log.journal))
}

// learnLimit finds out the limit of a topic, unless that was done since a time, and
// reports whether it is less than what was known then.
func (h *Host) learnLimit(ctx context.Context, topic string, since time.Time) (less bool, err error) {
	select {
	case h.learning <- struct{}{}:
		defer func() { <-h.learning }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	h.mu.Lock()
	at, known := h.learnt[topic]
	known = known && !at.Before(since)
	h.mu.Unlock()
	if known {
		return true, nil
	}
	ctx, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	limit, less, err := h.Cluster.LearnLimit(ctx, topic)
	if err != nil {
		return false, err
	}
	if topic == h.names.Journal() {
		h.Stats.LimitRecords(int64(limit) - loop.RecordOverhead)
	}
	if !less {
		return false, nil
	}
	h.logger.Warn(fmt.Sprintf("topic %s takes batches of %d bytes only, which is less than it should", topic, limit))
	h.mu.Lock()
	h.learnt[topic] = time.Now()
	h.mu.Unlock()
	return true, nil
}
